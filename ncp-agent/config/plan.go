// Package config makes of a run's plan what one end of an NCP session is run with.
package config

import (
	"fmt"
	"strings"
	"time"

	"ncp-testbed/internal/plan"
	"ncp-testbed/internal/timing"
	"ncp-testbed/ncp-agent/session"
)

// The transports: a datagram for each packet, or a TCP connection for each
// connection with a length before each packet.
const (
	UDP = "udp"
	TCP = "tcp"
)

// ReceiveBufferBytes is what an end requests for each UDP socket: a reader that is late by 50 ms at 1 Gbit/s finds 6 MB,
// and the kernel counts about twice that. PausedReaderPackets is how many full packets of the usual MTU its socket then
// holds while nobody reads: Linux grants twice the request, where the process may, and counts 2304 bytes for each.
const (
	ReceiveBufferBytes  = 8 << 20
	PausedReaderPackets = 2 * ReceiveBufferBytes / 2304
)

// Plan is a plan and one of its sessions.
type Plan struct {
	*plan.Plan
	Session Session
}

// Session is a session of the plan that is NCP's.
type Session struct{ plan.Session }

// Read reads the plan for the session called name. An error names the file,
// the field, its value and what would be right.
func Read(file, name string) (*Plan, error) {
	p, err := plan.ReadTraffic(file)
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range p.Sessions {
		if p.Sessions[i].Name == name {
			return ofSession(p, i)
		}
		names = append(names, p.Sessions[i].Name)
	}
	return nil, fmt.Errorf("%s: sessions: none is named %q, there are: %s", file, name, strings.Join(names, ", "))
}

// Sessions returns the plan for each of its sessions, in their order.
func Sessions(p *plan.Plan) ([]*Plan, error) {
	var all []*Plan
	for i := range p.Sessions {
		one, err := ofSession(p, i)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

func ofSession(p *plan.Plan, i int) (*Plan, error) {
	s := Session{p.Sessions[i]}
	if err := s.validate(); err != nil {
		return nil, fmt.Errorf("%s: sessions[%d].%w", p.Path, i, err)
	}
	return &Plan{p, s}, nil
}

// Config returns the session's configuration at an end, by its role.
func (s *Session) Config(role string) session.Config {
	ids := make([]string, len(s.Connections))
	for i, c := range s.Connections {
		ids[i] = c.Link
	}
	cfg := session.Default(ids...)
	cfg.Policy = s.rule()
	cfg.InitialWindows = s.InitialWindows
	cfg.WindowBytes = s.SendWindowBytes
	cfg.MTUBytes = s.MTUBytes
	if offer, ok := s.Offers[role]; ok {
		cfg.WindowBytes, cfg.MTUBytes = offer.SendWindowBytes, offer.MTUBytes
	}
	cfg.MaxAckRanges = s.MaxAckRanges
	cfg.AckRepeats = s.AckRepeats
	cfg.AckInterval = timing.Milliseconds(s.AckIntervalMS)
	cfg.TimeoutCheckInterval = timing.Milliseconds(s.TimeoutCheckMS)
	cfg.Linger = s.Linger()
	return cfg
}

// Linger returns how long the sender waits at its close for acknowledgements.
func (s *Session) Linger() time.Duration { return timing.Milliseconds(s.LingerMS) }

// rule returns the policy that the session's windows move by: an end of ours may meet npm's package, which has its
// own name for it.
func (s *Session) rule() string {
	if like := s.PolicyFacts.Like; like != "" {
		return like
	}
	return s.Policy
}
