package faces

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"ncp-testbed/ndn-agent/lp"
	"ncp-testbed/ndn-agent/marking"
	"ncp-testbed/ndn-agent/packet"
	"ncp-testbed/ndn-agent/tlv"
)

// The transports of faces.
const (
	UDP = "udp"
	TCP = "tcp"
)

// DefaultMTU is the largest link packet of a UDP face; the kernel cuts it into
// the path's IP fragments.
const DefaultMTU = 8800

// MaxMTU is what a datagram over IPv4 carries.
const MaxMTU = 65507

// FaceConfig is one face towards one peer.
type FaceConfig struct {
	Name            string
	Transport       string
	Local, Remote   netip.AddrPort
	Listen          bool // TCP: take the peer's connection on Local
	MTU             int  // of link packets over UDP; 0: DefaultMTU
	SendBufferBytes int  // as requested by SO_SNDBUF; 0: the kernel's default
	SendQueueBytes  int  // TCP: that wait in the process at most; 0: MaxSendQueueBytes
	Marking         marking.Config
}

// Counters count what passed a face. Bytes are of link packets.
type Counters struct {
	InInterests, OutInterests uint64
	InData, OutData           uint64
	InNacks, OutNacks         uint64
	InBytes, OutBytes         uint64
	InMarks, MarksSet         uint64
	Drops                     uint64 // not sent: no room in the socket, or no connection
	Errors                    uint64 // malformed packets, and errors of the socket
	ReassemblyDrops           uint64
	BacklogMax                int // bytes, as seen when sending
	SendQueueMax              int // packets in the process
}

// add takes another face's counts in: sums, and the larger of what is a maximum.
func (c *Counters) add(o Counters) {
	c.InInterests += o.InInterests
	c.OutInterests += o.OutInterests
	c.InData += o.InData
	c.OutData += o.OutData
	c.InNacks += o.InNacks
	c.OutNacks += o.OutNacks
	c.InBytes += o.InBytes
	c.OutBytes += o.OutBytes
	c.InMarks += o.InMarks
	c.MarksSet += o.MarksSet
	c.Drops += o.Drops
	c.Errors += o.Errors
	c.ReassemblyDrops += o.ReassemblyDrops
	c.BacklogMax = max(c.BacklogMax, o.BacklogMax)
	c.SendQueueMax = max(c.SendQueueMax, o.SendQueueMax)
}

// transport carries link packets. Its methods are called under the engine's lock.
type transport interface {
	// send takes one; an error says that it is dropped.
	send(frame []byte) error
	queue() marking.Queue
	close()
}

// Face is a link to one peer.
type Face struct {
	Config FaceConfig

	engine   *Engine
	index    int
	encoder  lp.Encoder
	decoder  lp.Decoder
	marker   marking.Marker
	link     transport // nil: down
	counters Counters
	sampled  int // the largest backlog since the last sample
	lastSeen time.Duration
	gone     bool // for good
}

func newFace(e *Engine, index int, c FaceConfig) *Face {
	f := &Face{Config: c, engine: e, index: index, marker: marking.Marker{Config: c.Marking}}
	if c.Transport == UDP {
		f.encoder.MTU = c.MTU
		if c.MTU == 0 {
			f.encoder.MTU = DefaultMTU
		}
	}
	return f
}

// send hands a packet to the socket, with a mark where its queue asks for one.
func (f *Face) send(now time.Duration, p lp.Packet) {
	f.count(&p, &f.counters.OutInterests, &f.counters.OutData, &f.counters.OutNacks)
	if f.link == nil {
		f.counters.Drops++
		return
	}
	q := f.link.queue()
	f.sampled = max(f.sampled, q.Bytes())
	f.counters.BacklogMax = max(f.counters.BacklogMax, q.Bytes())
	f.counters.SendQueueMax = max(f.counters.SendQueueMax, q.OwnPackets)
	if f.marker.Mark(now, q) {
		p.Mark = max(p.Mark, 1)
	}
	frames, err := f.encoder.Encode(p)
	if err != nil {
		f.counters.Errors++
		return
	}
	for _, frame := range frames {
		if err := f.link.send(frame); err != nil {
			f.counters.Drops++ // the peer can't put the rest together
			return
		}
		f.counters.OutBytes += uint64(len(frame))
	}
}

// receive takes a link packet and passes what it completes to the node.
func (f *Face) receive(now time.Duration, frame []byte) {
	f.counters.InBytes += uint64(len(frame))
	f.lastSeen = now
	p, whole, err := f.decoder.Decode(now, frame)
	if err != nil {
		f.counters.Errors++
		return
	}
	if !whole {
		return
	}
	f.count(&p, &f.counters.InInterests, &f.counters.InData, &f.counters.InNacks)
	if p.Mark != 0 {
		f.counters.InMarks++
	}
	f.engine.node.Receive(now, f.index, p)
}

func (f *Face) count(p *lp.Packet, interests, data, nacks *uint64) {
	kind, _, _ := tlv.Number(p.Network)
	switch {
	case p.IsNack:
		*nacks++
	case kind == packet.TypeInterest:
		*interests++
	case kind == packet.TypeData:
		*data++
	}
}

// State is a face at a moment.
type State struct {
	Name, Transport string
	Counters        Counters
	Queue           marking.Queue // zero while the face is down
	BacklogMax      int           // since the last call
	Up              bool
}

// counted returns the counts of all its parts.
func (f *Face) counted() Counters {
	c := f.counters
	c.MarksSet, c.ReassemblyDrops = f.marker.Marks, f.decoder.Dropped
	return c
}

func (f *Face) state() State {
	s := State{Name: f.Config.Name, Transport: f.Config.Transport, Counters: f.counted(), Up: f.link != nil}
	if f.link != nil {
		s.Queue = f.link.queue()
	}
	s.BacklogMax = max(f.sampled, s.Queue.Bytes())
	f.sampled = 0
	return s
}

// up sets the face's socket; false when there is one already.
func (f *Face) up(t transport) bool {
	f.engine.mu.Lock()
	defer f.engine.mu.Unlock()
	if f.link != nil {
		return false
	}
	f.link = t
	return true
}

// down takes it away.
func (f *Face) down(t transport) {
	f.engine.mu.Lock()
	defer f.engine.mu.Unlock()
	if f.link == t {
		f.link = nil
		f.engine.node.FaceDown(f.index)
	}
}

// run makes the face's socket and keeps it going until ctx ends; open is
// called each time that there is one.
func (f *Face) run(ctx context.Context, open func()) error {
	waiting := func(reason error) { f.engine.wait(fmt.Errorf("face %s: %w", f.Config.Name, reason)) }
	var err error
	switch {
	case f.Config.Transport == UDP:
		err = f.runUDP(ctx, waiting, open)
	case f.Config.Listen:
		err = f.runTCP(ctx, waiting, open, f.listenTCP)
	default:
		err = f.runTCP(ctx, waiting, open, f.dialTCP)
	}
	if err != nil {
		err = fmt.Errorf("face %s: %w", f.Config.Name, err)
	}
	return err
}
