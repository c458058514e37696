// Package config reads from a run's plan (plan.json, see docs/contracts.md) what
// one NDN node needs to know.
package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"time"

	"ncp-testbed/internal/telemetry"
	"ncp-testbed/ndn-agent/faces"
	"ncp-testbed/ndn-agent/fetch"
	"ncp-testbed/ndn-agent/marking"
	"ncp-testbed/ndn-agent/packet"
)

// Schema is the version of the plan that this package reads.
const Schema = 1

// The roles of a node.
const (
	Consumer  = "consumer"
	Forwarder = "forwarder"
	Producer  = "producer"
)

// Plan is the part of a plan that concerns one node.
type Plan struct {
	Run, Scenario, Session string
	Seed                   uint64
	Telemetry              telemetry.Config
	Prefix                 packet.Name
	PrefixURI              string
	ObjectBytes            int64
	SegmentBytes           int
	Freshness              time.Duration
	Node                   Node
	Faces                  []faces.FaceConfig
	Routes                 []Route        // of a forwarder
	Marking                marking.Config // of a forwarder or producer
	Fetch                  fetch.Config   // of a consumer
}

// Route sends what is under a prefix to a face.
type Route struct {
	Prefix packet.Name
	Face   int // of Faces
}

// Node is a node as the plan has it.
type Node struct {
	Host                string    `json:"host"`
	Role                string    `json:"role"`
	Faces               []face    `json:"faces"`
	Routes              []route   `json:"routes"`
	ContentStorePackets int       `json:"content_store_packets"`
	Marking             *markings `json:"marking"`
	Consumer            *consumer `json:"consumer"`
}

type face struct {
	Name            string         `json:"name"`
	Transport       string         `json:"transport"`
	Local           netip.AddrPort `json:"local"`
	Remote          netip.AddrPort `json:"remote"`
	Listen          bool           `json:"listen"`
	MTUBytes        int            `json:"mtu_bytes"`         // 0: faces.DefaultMTU
	SendBufferBytes int            `json:"send_buffer_bytes"` // 0: the kernel's default
	SendQueueBytes  int            `json:"send_queue_bytes"`  // TCP; 0: faces.MaxSendQueueBytes
}

type route struct {
	Prefix string `json:"prefix"`
	Face   string `json:"face"`
}

type markings struct {
	Mode            string  `json:"mode"`
	ThresholdBytes  int     `json:"threshold_bytes"`   // 0: the mode's
	TCPQueuePackets int     `json:"tcp_queue_packets"` // 0: the mode's
	IntervalMS      float64 `json:"interval_ms"`       // 0: the mode's
}

type consumer struct {
	Algorithm          string  `json:"algorithm"`
	IgnoreMarks        bool    `json:"ignore_marks"`
	RTOMinMS           float64 `json:"rto_min_ms"`
	InitialCwnd        float64 `json:"initial_cwnd"`
	AIMDStep           float64 `json:"aimd_step"`
	AIMDBeta           float64 `json:"aimd_beta"`
	MaxRetries         int     `json:"max_retries"`
	InterestLifetimeMS float64 `json:"interest_lifetime_ms"`
}

// document is the plan's JSON; keys that are not here are not this agent's.
type document struct {
	Schema   int    `json:"schema"`
	Run      string `json:"run"`
	Scenario string `json:"scenario"`
	Seed     uint64 `json:"seed"`
	Sessions []struct {
		Name string `json:"name"`
	} `json:"sessions"`
	Telemetry telemetry.Config `json:"telemetry"`
	NDN       *struct {
		Prefix       string  `json:"prefix"`
		ObjectBytes  int64   `json:"object_bytes"`
		SegmentBytes int     `json:"segment_bytes"`
		FreshnessMS  float64 `json:"freshness_ms"` // 0: DefaultFreshness
		Nodes        []Node  `json:"nodes"`
	} `json:"ndn"`
}

// DefaultFreshness is how long caches may answer for the producer.
const DefaultFreshness = 10 * time.Second

// Read reads the plan for the node on a host. An error names the file, the
// field, its value and what would be right.
func Read(file, host string) (*Plan, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return parse(file, text, host)
}

func parse(file string, text []byte, host string) (*Plan, error) {
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("%s: not the JSON it should be: %w", file, err)
	}
	if d.Schema != Schema {
		return nil, fmt.Errorf("%s: schema: %d, want %d", file, d.Schema, Schema)
	}
	if d.Run == "" || d.Scenario == "" {
		return nil, fmt.Errorf("%s: run: %q, scenario: %q, want both named", file, d.Run, d.Scenario)
	}
	if err := d.Telemetry.Validate(file); err != nil {
		return nil, err
	}
	p, err := d.node(host)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return p, nil
}

func (d *document) node(host string) (*Plan, error) {
	if d.NDN == nil {
		return nil, errors.New("ndn: missing, want the nodes of an NDN network")
	}
	if len(d.Sessions) != 1 || d.Sessions[0].Name == "" {
		return nil, fmt.Errorf("sessions: %d of them, want one with a name", len(d.Sessions))
	}
	var hosts []string
	for i, node := range d.NDN.Nodes {
		if node.Host != host {
			hosts = append(hosts, node.Host)
			continue
		}
		p := &Plan{
			Run: d.Run, Scenario: d.Scenario, Session: d.Sessions[0].Name, Seed: d.Seed, Telemetry: d.Telemetry, Node: node,
			PrefixURI: d.NDN.Prefix, ObjectBytes: d.NDN.ObjectBytes, SegmentBytes: d.NDN.SegmentBytes,
			Freshness: milliseconds(d.NDN.FreshnessMS),
		}
		if d.NDN.FreshnessMS == 0 {
			p.Freshness = DefaultFreshness
		}
		if err := p.complete(); err != nil {
			return nil, fmt.Errorf("ndn.%w", err)
		}
		if err := p.completeNode(); err != nil {
			return nil, fmt.Errorf("ndn.nodes[%d].%w", i, err)
		}
		return p, nil
	}
	return nil, fmt.Errorf("ndn.nodes: none is on host %q, there are: %s", host, strings.Join(hosts, ", "))
}

func milliseconds(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }
