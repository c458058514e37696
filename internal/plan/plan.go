// Package plan reads a run's plan (docs/contracts.md): the one decoder of plan.json, for all programs.
package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"

	"ncp-testbed/internal/linkmodel"
	"ncp-testbed/internal/telemetry"
)

// Schema is the version of plans; of those of version 1, which have more keys, all that is read here is the same.
const Schema = 2

// Plan is one run. Keys that are not here are not read by any of the programs in Go.
type Plan struct {
	Path      string           `json:"-"`
	Schema    int              `json:"schema"`
	Run       string           `json:"run"`
	Scenario  string           `json:"scenario"`
	Seed      uint64           `json:"seed"`
	Links     []Link           `json:"links"`
	Timeline  []Action         `json:"timeline"`
	Sessions  []Session        `json:"sessions"`
	NDN       *NDN             `json:"ndn"`
	Telemetry telemetry.Config `json:"telemetry"`
	Traces    Traces           `json:"traces"`
	Limits    Limits           `json:"limits"`
}

// Action is one entry of the timeline.
type Action struct {
	AtS        float64             `json:"at_s"`
	Kind       string              `json:"kind"` // set, carrier or pause_read
	Text       string              `json:"text"`
	Link       string              `json:"link"`
	Direction  linkmodel.Direction `json:"direction"`
	Properties Change              `json:"properties"`
	Up         bool                `json:"up"`
	Connection int                 `json:"connection"` // from 1
	ForS       float64             `json:"for_s"`
}

// Traces are what is kept of a run packet by packet.
type Traces struct {
	QLog bool     `json:"qlog"` // of both ends of each session
	Pcap []string `json:"pcap"` // the links that are captured
}

// Limits bound the run.
type Limits struct {
	TransferS float64 `json:"transfer_s"`
}

// Session is one session; of traffic other than NCP's it has a name and no more that is read here.
type Session struct {
	Name            string       `json:"name"`
	StartS          float64      `json:"start_s"` // after the run's first
	Policy          string       `json:"policy"`
	PolicyFacts     PolicyFacts  `json:"policy_facts"`
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

	Offers map[string]Offer `json:"offers"` // of the ends that offer something else than what is agreed, by role
}

// Offer is what an end proposes in its handshake in place of the session's own.
type Offer struct {
	SendWindowBytes uint32 `json:"send_window_bytes"`
	MTUBytes        uint32 `json:"mtu_bytes"`
}

// PolicyFacts are a policy's, of which npm's packages have one by another name.
type PolicyFacts struct {
	Like string `json:"like"` // the policy of ours that it is like; "": it is ours
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

// Read reads a plan, checks its links and works out what they emulate. Errors name the file, the field, its value and
// what would be right.
func Read(path string) (*Plan, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parse(text, path)
}

func parse(text []byte, path string) (*Plan, error) {
	p, err := decode(text, path)
	if err != nil {
		return nil, err
	}
	return p, p.resolveLinks()
}

// ReadTraffic is [Read] without the links, of which agents know neither the interfaces nor the files.
func ReadTraffic(path string) (*Plan, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return ParseTraffic(text, path)
}

// ParseTraffic is [ReadTraffic] for a text that is read already; path is where from.
func ParseTraffic(text []byte, path string) (*Plan, error) {
	p, err := decode(text, path)
	if err != nil {
		return nil, err
	}
	p.Links = nil
	return p, nil
}

func decode(text []byte, path string) (*Plan, error) {
	p := &Plan{Path: path}
	if err := json.Unmarshal(text, p); err != nil {
		return nil, fmt.Errorf("%s: %s", path, jsonFault(err, text))
	}
	if p.Schema < 1 || p.Schema > Schema {
		return nil, fmt.Errorf("%s: schema: %d, want 1 to %d", path, p.Schema, Schema)
	}
	if p.Run == "" || p.Scenario == "" {
		return nil, fmt.Errorf("%s: run: %q, scenario: %q, want both named", path, p.Run, p.Scenario)
	}
	return p, p.Telemetry.Validate(path)
}

// Credentials returns those of a file, or nil without its name: then nothing is pushed. With them the plan has to say
// where to push to.
func (p *Plan) Credentials(file string) (*telemetry.Credentials, error) {
	if file == "" {
		return nil, nil
	}
	c, err := telemetry.ReadCredentials(file)
	if err != nil {
		return nil, err
	}
	return &c, p.Telemetry.ValidateDatabase(p.Path)
}

// jsonFault says where the JSON is wrong.
func jsonFault(err error, text []byte) string {
	line := func(offset int64) int { return 1 + strings.Count(string(text[:offset]), "\n") }
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		keys := slices.DeleteFunc(strings.Split(e.Field, "."), func(key string) bool {
			return key == "Properties" || key == "Files" // embedded structs, of which encoding/json tells
		})
		return fmt.Sprintf("line %d: %s: %s, want %s", line(e.Offset), strings.Join(keys, "."), e.Value, e.Type)
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Sprintf("line %d: not JSON: %v", line(e.Offset), e)
	}
	return err.Error()
}
