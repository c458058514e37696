package config

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"ncp-testbed/internal/plan"
	"ncp-testbed/internal/timing"
	"ncp-testbed/ndn-agent/faces"
	"ncp-testbed/ndn-agent/fetch"
	"ncp-testbed/ndn-agent/lp"
	"ncp-testbed/ndn-agent/marking"
	"ncp-testbed/ndn-agent/packet"
	"ncp-testbed/ndn-agent/produce"
)

// maxObjectBytes is what a producer holds in memory.
const maxObjectBytes = 4 << 30

// bound is a field's range.
type bound struct {
	field            string
	value, low, high float64
}

func within(bounds ...bound) error {
	for _, b := range bounds {
		if !(b.value >= b.low && b.value <= b.high) {
			return fmt.Errorf("%s: %s, want %s to %s", b.field, plain(b.value), plain(b.low), plain(b.high))
		}
	}
	return nil
}

// plain writes a number without an exponent.
func plain(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// complete checks what all nodes share.
func (p *Plan) complete() (err error) {
	if p.Prefix, err = packet.ParseName(p.NDN.Prefix); err != nil || p.Prefix == "" {
		return fmt.Errorf("prefix: %q, want a name like /ncp-testbed/file", p.NDN.Prefix)
	}
	return within(
		bound{"object_bytes", float64(p.ObjectBytes), 1, maxObjectBytes},
		bound{"segment_bytes", float64(p.SegmentBytes), 1, produce.MaxSegmentBytes},
		bound{"freshness_ms", float64(p.Freshness / time.Millisecond), 0, 1e9},
	)
}

// completeNode checks the node and fills in what it is run with. Errors begin
// with the field's name.
func (p *Plan) completeNode() error {
	n := &p.Node
	switch n.Role {
	case Consumer, Producer:
		if len(n.Faces) != 1 {
			return fmt.Errorf("faces: %d of them, a %s has one", len(n.Faces), n.Role)
		}
	case Forwarder:
		if len(n.Faces) < 1 {
			return fmt.Errorf("faces: none, a forwarder has at least one")
		}
	default:
		return fmt.Errorf("role: %q, want %s, %s or %s", n.Role, Consumer, Forwarder, Producer)
	}
	if err := p.completeMarking(); err != nil {
		return fmt.Errorf("marking.%w", err)
	}
	for i, f := range n.Faces {
		if err := p.addFace(f); err != nil {
			return fmt.Errorf("faces[%d].%w", i, err)
		}
	}
	if err := p.addRoutes(); err != nil {
		return err
	}
	if n.Role == Consumer {
		if err := p.completeConsumer(); err != nil {
			return fmt.Errorf("consumer.%w", err)
		}
	}
	return within(bound{"content_store_packets", float64(n.ContentStorePackets), 0, 1 << 20})
}

func (p *Plan) completeMarking() (err error) {
	m := p.Node.Marking
	if m == nil {
		m = &plan.Marking{Mode: marking.Off}
	}
	c, err := marking.Default(m.Mode)
	if err != nil {
		return fmt.Errorf("mode: %w", err)
	}
	if m.ThresholdBytes != 0 {
		c.ThresholdBytes = m.ThresholdBytes
	}
	if m.TCPQueuePackets != 0 {
		c.QueuePackets = m.TCPQueuePackets
	}
	if m.IntervalMS != 0 {
		c.Interval = timing.Milliseconds(m.IntervalMS)
	}
	p.Marking = c
	return within(
		bound{"threshold_bytes", float64(c.ThresholdBytes), 0, 1 << 30},
		bound{"tcp_queue_packets", float64(c.QueuePackets), 0, 1 << 20},
		bound{"interval_ms", float64(c.Interval / time.Millisecond), 0, 60000},
	)
}

func (p *Plan) addFace(f plan.Face) error {
	switch {
	case f.Name == "" || slices.ContainsFunc(p.Faces, func(c faces.FaceConfig) bool { return c.Name == f.Name }):
		return fmt.Errorf("name: %q, want one that no other face of the node has", f.Name)
	case f.Transport != faces.UDP && f.Transport != faces.TCP:
		return fmt.Errorf("transport: %q, want %s or %s", f.Transport, faces.UDP, faces.TCP)
	case !f.Local.IsValid() || f.Local.Port() == 0:
		return fmt.Errorf("local: %q, want an address and a port like 198.18.1.1:6363", f.Local)
	case !f.Remote.IsValid() || f.Remote.Port() == 0 || f.Remote.Addr().Is4() != f.Local.Addr().Is4():
		return fmt.Errorf("remote: %q, want an address and a port of local's family, like 198.18.1.2:6363", f.Remote)
	}
	if f.MTUBytes == 0 {
		f.MTUBytes = faces.DefaultMTU
	}
	p.Faces = append(p.Faces, faces.FaceConfig{
		Name: f.Name, Transport: f.Transport, Local: f.Local, Remote: f.Remote, Listen: f.Listen,
		MTU: f.MTUBytes, SendBufferBytes: f.SendBufferBytes, SendQueueBytes: f.SendQueueBytes, Marking: p.Marking,
	})
	return within(
		bound{"mtu_bytes", float64(f.MTUBytes), lp.MinMTU, faces.MaxMTU},
		bound{"send_buffer_bytes", float64(f.SendBufferBytes), 0, 1 << 30},
		bound{"send_queue_bytes", float64(f.SendQueueBytes), 0, faces.MaxSendQueueBytes},
	)
}

func (p *Plan) addRoutes() error {
	if p.Node.Role != Forwarder && len(p.Node.Routes) > 0 {
		return fmt.Errorf("routes: %d of them, a %s has none", len(p.Node.Routes), p.Node.Role)
	}
	for i, r := range p.Node.Routes {
		name, err := packet.ParseName(r.Prefix)
		if err != nil {
			return fmt.Errorf("routes[%d].prefix: %w", i, err)
		}
		at := slices.IndexFunc(p.Faces, func(c faces.FaceConfig) bool { return c.Name == r.Face })
		if at < 0 {
			return fmt.Errorf("routes[%d].face: %q, want the name of one of the node's faces", i, r.Face)
		}
		p.Routes = append(p.Routes, Route{name, at})
	}
	return nil
}

func (p *Plan) completeConsumer() error {
	c := p.Node.Consumer
	if c == nil {
		c = &plan.Consumer{}
	}
	f := fetch.Default(p.Prefix)
	f.IgnoreMarks, f.Seed = c.IgnoreMarks, p.Seed
	if c.Algorithm != "" {
		f.Algorithm = c.Algorithm
	}
	if c.RTOMinMS != 0 {
		f.RTOMin = timing.Milliseconds(c.RTOMinMS)
	}
	if c.InitialCwnd != 0 {
		f.InitialCwnd = c.InitialCwnd
	}
	if c.AIMDStep != 0 {
		f.AIMDStep = c.AIMDStep
	}
	if c.AIMDBeta != 0 {
		f.AIMDBeta = c.AIMDBeta
	}
	if c.MaxRetries != 0 {
		f.MaxRetries = c.MaxRetries
	}
	if c.InterestLifetimeMS != 0 {
		f.Lifetime = timing.Milliseconds(c.InterestLifetimeMS)
	}
	p.Fetch = f
	return CheckFetch(f)
}

// CheckFetch returns what is wrong with a fetch's parameters, by the names that
// the plan has for them.
func CheckFetch(f fetch.Config) error {
	if f.Algorithm != fetch.AIMD && f.Algorithm != fetch.Cubic {
		return fmt.Errorf("algorithm: %q, want %s or %s", f.Algorithm, fetch.AIMD, fetch.Cubic)
	}
	return within(
		bound{"rto_min_ms", float64(f.RTOMin) / 1e6, 1, 60000},
		bound{"initial_cwnd", f.InitialCwnd, 1, 10000},
		bound{"aimd_step", f.AIMDStep, 0.001, 1000},
		bound{"aimd_beta", f.AIMDBeta, 0.01, 0.99},
		bound{"max_retries", float64(f.MaxRetries), 1, 10000},
		bound{"interest_lifetime_ms", float64(f.Lifetime) / 1e6, 1, 60000},
	)
}
