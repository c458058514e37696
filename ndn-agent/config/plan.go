// Package config makes of a run's plan what one NDN node is run with.
package config

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"ncp-testbed/internal/plan"
	"ncp-testbed/internal/timing"
	"ncp-testbed/ndn-agent/faces"
	"ncp-testbed/ndn-agent/fetch"
	"ncp-testbed/ndn-agent/marking"
	"ncp-testbed/ndn-agent/packet"
)

// The roles of a node.
const (
	Consumer  = "consumer"
	Forwarder = "forwarder"
	Producer  = "producer"
)

// Plan is a plan and one of its nodes.
type Plan struct {
	*plan.Plan
	Session      string
	Prefix       packet.Name
	ObjectBytes  int64
	SegmentBytes int
	Freshness    time.Duration
	Node         plan.Node
	Faces        []faces.FaceConfig
	Routes       []Route        // of a forwarder
	Marking      marking.Config // of a forwarder or producer
	Fetch        fetch.Config   // of a consumer
}

// Route sends what is under a prefix to a face.
type Route struct {
	Prefix packet.Name
	Face   int // of Faces
}

// DefaultFreshness is how long caches may answer for the producer.
const DefaultFreshness = 10 * time.Second

// Read reads the plan for the node on a host. An error names the file, the
// field, its value and what would be right.
func Read(file, host string) (*Plan, error) {
	p, err := plan.ReadTraffic(file)
	if err != nil {
		return nil, err
	}
	return ofNode(p, host)
}

func ofNode(p *plan.Plan, host string) (*Plan, error) {
	found, err := findNode(p, host)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Path, err)
	}
	return found, nil
}

func findNode(p *plan.Plan, host string) (*Plan, error) {
	if p.NDN == nil {
		return nil, errors.New("ndn: missing, want the nodes of an NDN network")
	}
	if len(p.Sessions) != 1 || p.Sessions[0].Name == "" {
		return nil, fmt.Errorf("sessions: %d of them, want one with a name", len(p.Sessions))
	}
	var hosts []string
	for i, node := range p.NDN.Nodes {
		if node.Host != host {
			hosts = append(hosts, node.Host)
			continue
		}
		found := &Plan{
			Plan: p, Session: p.Sessions[0].Name, Node: node,
			ObjectBytes: p.NDN.ObjectBytes, SegmentBytes: p.NDN.SegmentBytes, Freshness: timing.Milliseconds(p.NDN.FreshnessMS),
		}
		if p.NDN.FreshnessMS == 0 {
			found.Freshness = DefaultFreshness
		}
		if err := found.complete(); err != nil {
			return nil, fmt.Errorf("ndn.%w", err)
		}
		if err := found.completeNode(); err != nil {
			return nil, fmt.Errorf("ndn.nodes[%d].%w", i, err)
		}
		return found, nil
	}
	return nil, fmt.Errorf("ndn.nodes: none is on host %q, there are: %s", host, strings.Join(hosts, ", "))
}
