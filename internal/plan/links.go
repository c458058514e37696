package plan

import (
	"fmt"
	"net/netip"
	"path/filepath"

	"ncp-testbed/internal/linkmodel"
)

// Link is one emulated link. Its properties are of both directions; AB and BA change those of one.
type Link struct {
	Name       string `json:"name"`
	Index      int    `json:"index"`
	A          End    `json:"a"`
	B          End    `json:"b"`
	FrameBytes int    `json:"frame_bytes"`
	Seed       uint64 `json:"seed"`
	// WholeSegments lets TCP's segments cross the link before they are cut into frames.
	WholeSegments bool `json:"whole_segments"`
	linkmodel.Properties
	Files
	AB Change `json:"ab"`
	BA Change `json:"ba"`

	// Emulated are the properties of the link's middle by direction, in the order of [linkmodel.Directions].
	Emulated [2]linkmodel.Properties `json:"-"`
}

// End is one end of a link: a is where the forward direction, ab, begins.
type End struct {
	Host            string `json:"host"`
	Interface       string `json:"interface"`
	Address         string `json:"address"`
	MiddleInterface string `json:"middle_interface"`
}

// ShapedAtHosts reports whether rate and queue are at the hosts' own egress, hence not in the middle.
func (l *Link) ShapedAtHosts() bool {
	return l.Queue.Mode == "" || l.Queue.Mode == linkmodel.QueueBackPressure
}

// EndToEnd returns a direction's properties where one model stands for all of the link: what the hosts shape as well
// as what the middle does. direction is 0 for ab, 1 for ba.
func (l *Link) EndToEnd(direction int) linkmodel.Properties {
	p := l.Emulated[direction]
	if l.ShapedAtHosts() {
		p.RateBPS, p.FramesPPS, p.BurstBytes, p.Queue = l.RateBPS, l.FramesPPS, l.BurstBytes, l.Queue
		p.Queue.Mode = linkmodel.QueueBackPressure
	}
	return p
}

func (p *Plan) resolveLinks() error {
	if len(p.Links) == 0 {
		return fmt.Errorf("%s: links: none, want at least one", p.Path)
	}
	names := map[string]bool{}
	for i := range p.Links {
		l := &p.Links[i]
		if err := l.resolve(filepath.Dir(p.Path)); err != nil {
			return fmt.Errorf("%s: links[%d].%w", p.Path, i, err)
		}
		if names[l.Name] {
			return fmt.Errorf("%s: links[%d].name: %q is taken", p.Path, i, l.Name)
		}
		names[l.Name] = true
	}
	return nil
}

// resolve checks the link and works out what its middle does; files are relative to the directory.
func (l *Link) resolve(directory string) error {
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
	both := l.Properties
	if err := l.Files.read(directory, &both); err != nil {
		return err
	}
	if !both.Trace.IsZero() {
		if l.ShapedAtHosts() {
			return fmt.Errorf("queue.mode: %q, want a queue in the middle, where the trace paces frames", l.Queue.Mode)
		}
		both.RateBPS, both.FramesPPS = 0, 0 // for the probe and the reader: about what the trace gives
	}
	if err := both.Validate(); err != nil {
		return err
	}
	both.RateBPS, l.RateBPS = linkmodel.WholeBPS(both.RateBPS), linkmodel.WholeBPS(l.RateBPS)
	if l.ShapedAtHosts() {
		both.RateBPS, both.FramesPPS, both.BurstBytes, both.Queue = 0, 0, 0, linkmodel.Queue{}
	}
	for i, own := range []*Change{&l.AB, &l.BA} {
		change, err := own.Resolve(directory)
		if err != nil {
			return fmt.Errorf("%s.%w", linkmodel.Directions[i], err)
		}
		l.Emulated[i] = both.Apply(&change)
	}
	return nil
}
