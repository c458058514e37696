// Package plan reads of a run's plan (docs/contracts.md) what concerns its links.
package plan

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"

	"ncp-testbed/internal/linkmodel"
	"ncp-testbed/internal/telemetry"
)

// Plan is one run.
type Plan struct {
	Path      string           `json:"-"`
	Schema    int              `json:"schema"`
	Run       string           `json:"run"`
	Scenario  string           `json:"scenario"`
	Links     []Link           `json:"links"`
	Telemetry telemetry.Config `json:"telemetry"`
}

// Link is one emulated link. Its middle is described by the keys of [linkmodel.Change] beside those listed here,
// for one direction by the same keys in an object ab or ba.
type Link struct {
	Name       string          `json:"name"`
	Index      int             `json:"index"`
	A          End             `json:"a"`
	B          End             `json:"b"`
	RateBPS    float64         `json:"rate_bps"`
	FrameBytes int             `json:"frame_bytes"`
	BurstBytes int             `json:"burst_bytes"`
	Queue      linkmodel.Queue `json:"queue"`
	Seed       uint64          `json:"seed"`
	// WholeSegments lets TCP's segments cross the link before they are cut into frames.
	WholeSegments bool `json:"whole_segments"`

	// Middle are the properties of the link's middle: those of ab first, then of ba.
	Middle [2]linkmodel.Properties `json:"-"`
}

// End is one end of a link: a is where the forward direction, ab, begins.
type End struct {
	Host            string `json:"host"`
	Interface       string `json:"interface"`
	Address         string `json:"address"`
	MiddleInterface string `json:"middle_interface"`
}

// Directions are the names of a link's directions, in the order of [Link.Middle].
var Directions = [2]string{"ab", "ba"}

// Read reads a plan. Errors name the file and the field.
func Read(path string) (*Plan, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parse(text, path)
}

func parse(text []byte, path string) (*Plan, error) {
	p := &Plan{Path: path}
	if err := json.Unmarshal(text, p); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var raw struct {
		Links []json.RawMessage `json:"links"`
	}
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if p.Schema != 1 {
		return nil, fmt.Errorf("%s: schema: %d, want 1", path, p.Schema)
	}
	if len(p.Links) == 0 {
		return nil, fmt.Errorf("%s: links: none, want at least one", path)
	}
	if err := p.Telemetry.ValidateInterval(path); err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for i := range p.Links {
		l := &p.Links[i]
		if err := l.resolve(raw.Links[i], filepath.Dir(path)); err != nil {
			return nil, fmt.Errorf("%s: links[%d].%w", path, i, err)
		}
		if names[l.Name] {
			return nil, fmt.Errorf("%s: links[%d].name: %q is taken", path, i, l.Name)
		}
		names[l.Name] = true
	}
	return p, nil
}

// ShapedAtHosts tells whether rate and queue are at the hosts' own egress, hence not in the middle.
func (l *Link) ShapedAtHosts() bool {
	return l.Queue.Mode == "" || l.Queue.Mode == linkmodel.QueueBackPressure
}

// Whole are a direction's properties where one model stands for all of the link: what the hosts shape as well
// as what the middle does. direction is 0 for ab, 1 for ba.
func (l *Link) Whole(direction int) linkmodel.Properties {
	p := l.Middle[direction]
	if l.ShapedAtHosts() {
		p.RateBPS, p.BurstBytes, p.Queue = l.RateBPS, l.BurstBytes, l.Queue
		p.Queue.Mode = linkmodel.QueueBackPressure
	}
	return p
}

func (l *Link) resolve(raw json.RawMessage, directory string) error {
	if l.Name == "" {
		return fmt.Errorf("name: empty, want the link's name")
	}
	for _, end := range []struct {
		key string
		end *End
	}{{"a", &l.A}, {"b", &l.B}} {
		if end.end.MiddleInterface == "" {
			return fmt.Errorf("%s.middle_interface: empty, want an interface", end.key)
		}
		if _, err := netip.ParseAddr(end.end.Address); err != nil {
			return fmt.Errorf("%s.address: %q, want an IP address", end.key, end.end.Address)
		}
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(raw, &keys); err != nil {
		return err
	}
	both, err := l.middle(keys, directory)
	if err != nil {
		return err
	}
	for i, direction := range Directions {
		l.Middle[i] = linkmodel.Properties{}.Apply(&both)
		text, ok := keys[direction]
		if !ok {
			continue
		}
		own, err := ParseChange(text, directory)
		if err != nil {
			return fmt.Errorf("%s.%w", direction, err)
		}
		l.Middle[i] = l.Middle[i].Apply(&own)
	}
	return nil
}

// middle is what a link's keys ask of its middle, both ways.
func (l *Link) middle(keys map[string]json.RawMessage, directory string) (linkmodel.Change, error) {
	asked := map[string]json.RawMessage{}
	for _, key := range append(linkmodel.Keys(), "trace_file", "jitter_file") {
		if value, ok := keys[key]; ok {
			asked[key] = value
		}
	}
	if err := withFiles(asked, directory); err != nil {
		return linkmodel.Change{}, err
	}
	if _, paced := asked["trace_ms"]; paced {
		if l.ShapedAtHosts() {
			return linkmodel.Change{}, fmt.Errorf("queue.mode: %q, want a queue in the middle, where the trace paces frames", l.Queue.Mode)
		}
		delete(asked, "rate_bps") // for the probe and the reader: about what the trace gives
	}
	if l.ShapedAtHosts() {
		delete(asked, "rate_bps")
		delete(asked, "burst_bytes")
		delete(asked, "queue")
	}
	text, err := json.Marshal(asked)
	if err != nil {
		return linkmodel.Change{}, err
	}
	return linkmodel.ParseChange(text)
}
