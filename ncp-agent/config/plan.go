// Package config reads from a run's plan (plan.json, see docs/contracts.md) what
// an agent needs to know.
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
	"ncp-testbed/ncp-agent/session"
)

// Schema is the version of the plan that this package reads.
const Schema = 1

// The transports: a datagram for each packet, or a TCP connection for each
// connection with a length before each packet.
const (
	UDP = "udp"
	TCP = "tcp"
)

// Plan is the part of a plan that concerns one session.
type Plan struct {
	Run, Scenario string
	Seed          uint64
	Telemetry     telemetry.Config
	Traces        Traces
	Session       Session
}

// Traces are what is kept of a run packet by packet.
type Traces struct {
	QLog bool     `json:"qlog"` // of both ends of each session
	Pcap []string `json:"pcap"` // the links that are captured
}

// Session is one session of the plan.
type Session struct {
	Name            string       `json:"name"`
	StartS          float64      `json:"start_s"` // after the run's first
	Policy          string       `json:"policy"`
	Transport       string       `json:"transport"`
	TransferBytes   int64        `json:"transfer_bytes"`
	SendWindowBytes uint32       `json:"send_window_bytes"`
	MTUBytes        uint32       `json:"mtu_bytes"`
	InitialWindows  []float64    `json:"initial_windows"` // packets; null: the policy's own
	AckIntervalMS   float64      `json:"ack_interval_ms"`
	MaxAckRanges    int          `json:"max_ack_ranges"`
	AckRepeats      int          `json:"ack_repeats"`
	TimeoutCheckMS  float64      `json:"timeout_check_ms"`
	LingerMS        float64      `json:"linger_ms"`
	Connections     []Connection `json:"connections"`
}

// Connection is one path of a session: a socket at each end of a link.
type Connection struct {
	Index             int            `json:"index"` // from 1
	Link              string         `json:"link"`
	Path              []string       `json:"path"` // the links that it crosses, from sender to receiver
	SendBufferPackets int            `json:"send_buffer_packets"`
	Sender            netip.AddrPort `json:"sender"`
	Receiver          netip.AddrPort `json:"receiver"`
}

// document is the plan's JSON; keys that are not here are not this agent's.
type document struct {
	Schema    int              `json:"schema"`
	Run       string           `json:"run"`
	Scenario  string           `json:"scenario"`
	Seed      uint64           `json:"seed"`
	Sessions  []Session        `json:"sessions"`
	Telemetry telemetry.Config `json:"telemetry"`
	Traces    Traces           `json:"traces"`
}

// Read reads the plan for the session called name. An error names the file,
// the field, its value and what would be right.
func Read(file, name string) (*Plan, error) {
	d, err := read(file)
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range d.Sessions {
		if d.Sessions[i].Name == name {
			return d.session(file, i)
		}
		names = append(names, d.Sessions[i].Name)
	}
	return nil, fmt.Errorf("%s: sessions: none is named %q, there are: %s", file, name, strings.Join(names, ", "))
}

// ReadAll reads the plan for each of its sessions, in their order.
func ReadAll(file string) ([]*Plan, error) {
	d, err := read(file)
	if err != nil {
		return nil, err
	}
	return d.all(file)
}

func (d *document) all(file string) ([]*Plan, error) {
	var all []*Plan
	for i := range d.Sessions {
		p, err := d.session(file, i)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

func (d *document) session(file string, i int) (*Plan, error) {
	if err := d.Sessions[i].validate(); err != nil {
		return nil, fmt.Errorf("%s: sessions[%d].%w", file, i, err)
	}
	return &Plan{d.Run, d.Scenario, d.Seed, d.Telemetry, d.Traces, d.Sessions[i]}, nil
}

func read(file string) (*document, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return parse(file, text)
}

func parse(file string, text []byte) (*document, error) {
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("%s: %s", file, jsonFault(err, text))
	}
	if d.Schema != Schema {
		return nil, fmt.Errorf("%s: schema: %d, want %d", file, d.Schema, Schema)
	}
	if d.Run == "" || d.Scenario == "" {
		return nil, fmt.Errorf("%s: run: %q, scenario: %q, want both named", file, d.Run, d.Scenario)
	}
	return &d, d.Telemetry.Validate(file)
}

// jsonFault says where the JSON is wrong.
func jsonFault(err error, text []byte) string {
	line := func(offset int64) int { return 1 + strings.Count(string(text[:offset]), "\n") }
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Sprintf("line %d: %s: %s, want %s", line(e.Offset), e.Field, e.Value, e.Type)
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Sprintf("line %d: not JSON: %v", line(e.Offset), e)
	}
	return err.Error()
}

// Config gives the session's configuration at either end.
func (s *Session) Config() session.Config {
	ids := make([]string, len(s.Connections))
	for i, c := range s.Connections {
		ids[i] = c.Link
	}
	cfg := session.Default(ids...)
	cfg.Policy = s.Policy
	cfg.InitialWindows = s.InitialWindows
	cfg.WindowBytes = s.SendWindowBytes
	cfg.MTUBytes = s.MTUBytes
	cfg.MaxAckRanges = s.MaxAckRanges
	cfg.AckRepeats = s.AckRepeats
	cfg.AckInterval = milliseconds(s.AckIntervalMS)
	cfg.TimeoutCheckInterval = milliseconds(s.TimeoutCheckMS)
	cfg.Linger = s.Linger()
	return cfg
}

// Linger is how long the sender waits at its close for acknowledgements.
func (s *Session) Linger() time.Duration { return milliseconds(s.LingerMS) }

func milliseconds(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }
