// Package trace judges an NCP session by its packets, as they were captured at
// one of its ends. It believes nobody: what the ends say of themselves is
// compared with what it finds by others.
//
// Every rule here holds at either end, whatever the delay between them: what
// answers a packet passes each point after that packet. A rule that is broken
// at one end was broken; what is allowed by both may still have been early by
// as much as the delay.
package trace

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"hash/maphash"
	"slices"
	"time"

	"ncp-testbed/ncp-agent/wire"
)

// End is one of the two ends of a session. Data goes from the sender to the
// receiver.
type End int

// The ends.
const (
	Sender End = iota
	Receiver
)

func (e End) String() string { return [...]string{"the sender", "the receiver"}[e] }

// Offer is what an end is to propose in its handshake.
type Offer struct {
	ClientIDs             []string // one per connection
	WindowBytes, MTUBytes uint32
}

// View takes the packets of one session as they pass one point, in the order of
// time.
type View struct {
	offers [2]Offer
	facts  Facts
	seen   map[string]bool // violations

	packets  map[uint32]*packet // by sequence
	next     uint32             // the first sequence that is missing
	sum      hash.Hash          // of the payload before it
	seed     maphash.Seed
	sent     uint64 // bytes, each sequence once
	inFlight int
	closed   [2]bool

	firstData, lastAck time.Duration
}

// packet is what a sequence carried.
type packet struct {
	data  []byte // nil once all before it is there too
	bytes int
	print uint64 // of the data
	on    uint64 // connections that it was seen on, a bit each: session.MaxConnections is 64
	acked bool
}

// NewView begins a view of a session between two ends.
func NewView(sender, receiver Offer) *View {
	v := &View{
		offers: [2]Offer{sender, receiver}, seen: map[string]bool{}, packets: map[uint32]*packet{},
		next: wire.MinSequence, sum: sha256.New(), seed: maphash.MakeSeed(),
	}
	v.facts.Violations = []string{}
	for _, id := range sender.ClientIDs {
		v.facts.Connections = append(v.facts.Connections, Connection{Link: id})
	}
	return v
}

// violation notes a breach of a rule; each kind is reported once, at its first.
func (v *View) violation(kind, format string, args ...any) {
	if !v.seen[kind] {
		v.seen[kind] = true
		v.facts.Violations = append(v.facts.Violations, fmt.Sprintf(format, args...))
	}
}

func (v *View) direction(conn int, from End) *Direction {
	c := &v.facts.Connections[conn]
	if from == Sender {
		return &c.FromSender
	}
	return &c.FromReceiver
}

// Packet takes one packet of a connection, counted from 0. The packet may be
// changed afterwards.
func (v *View) Packet(at time.Duration, conn int, from End, p *wire.Packet) {
	d := v.direction(conn, from)
	d.Packets++
	if p.Handshake {
		d.Handshakes++
		v.handshake(from, p)
	}
	if p.Sequence > 0 {
		v.data(at, conn, from, p)
	}
	if len(p.AckStarts) > 0 || len(p.AckCounts) > 0 {
		v.acknowledgement(at, conn, from, p)
	}
	if p.BytesRead > 0 {
		v.bytesRead(from, p.BytesRead)
	}
	if p.Close {
		d.Closes++
		v.closed[from] = true
	}
}

// Malformed notes what is no packet.
func (v *View) Malformed(conn int, from End, err error) {
	v.violation(fmt.Sprintf("malformed %d %d", conn, from), "connection %d: from %v: %v", conn+1, from, err)
}

func (v *View) handshake(from End, p *wire.Packet) {
	h := &v.facts.Sender
	if from == Receiver {
		h = &v.facts.Receiver
	}
	h.Packets++
	if h.Packets > 1 {
		if !slices.Equal(p.ClientIDs, h.ClientIDs) || p.WindowBytes != h.WindowBytes || p.MTUBytes != h.MTUBytes {
			v.violation(fmt.Sprint("handshakes differ ", from), "the handshakes of %v differ", from)
		}
		return
	}
	h.ClientIDs, h.WindowBytes, h.MTUBytes = slices.Clone(p.ClientIDs), p.WindowBytes, p.MTUBytes
	want := v.offers[from]
	if !slices.Equal(p.ClientIDs, want.ClientIDs) || p.WindowBytes != want.WindowBytes || p.MTUBytes != want.MTUBytes {
		v.violation(fmt.Sprint("handshake ", from), "handshake of %v: clients %v, window %d B, MTU %d B, want %v, %d B, %d B",
			from, p.ClientIDs, p.WindowBytes, p.MTUBytes, want.ClientIDs, want.WindowBytes, want.MTUBytes)
	}
	if v.facts.Sender.Packets > 0 && v.facts.Receiver.Packets > 0 {
		v.facts.WindowBytes = min(v.facts.Sender.WindowBytes, v.facts.Receiver.WindowBytes)
		v.facts.MTUBytes = min(v.facts.Sender.MTUBytes, v.facts.Receiver.MTUBytes)
	}
}

func (v *View) data(at time.Duration, conn int, from End, p *wire.Packet) {
	d := v.direction(conn, from)
	d.DataPackets++
	if from == Receiver {
		v.violation("data back", "connection %d: the receiver sent data (sequence %d)", conn+1, p.Sequence)
		return
	}
	f := &v.facts
	if f.MTUBytes == 0 {
		v.violation("early data", "data (sequence %d) before both handshakes", p.Sequence)
	} else if len(p.Data) > int(f.MTUBytes) || len(p.Data) == 0 {
		v.violation("MTU", "connection %d: sequence %d has %d B of data, agreed are 1 to %d B", conn+1, p.Sequence, len(p.Data), f.MTUBytes)
	}
	if v.closed[Sender] && v.packets[p.Sequence] == nil {
		v.violation("late data", "sequence %d is new after the sender's close", p.Sequence)
	}
	print := maphash.Bytes(v.seed, p.Data)
	known := v.packets[p.Sequence]
	if known == nil {
		if f.Sequences == 0 {
			v.firstData = at
		}
		f.Sequences++
		v.inFlight++
		f.MaxInFlight = max(f.MaxInFlight, v.inFlight)
		v.sent += uint64(len(p.Data))
		known = &packet{data: slices.Clone(p.Data), bytes: len(p.Data), print: print}
		v.packets[p.Sequence] = known
		v.inOrder()
		v.outstanding()
	} else {
		f.ResentPackets++
		d.ResentPackets++
		if known.bytes != len(p.Data) || known.print != print {
			v.violation("resend differs", "connection %d: sequence %d was sent again with other data", conn+1, p.Sequence)
		}
	}
	known.on |= 1 << conn
}

// inOrder takes up the payload that has become whole.
func (v *View) inOrder() {
	for p := v.packets[v.next]; p != nil && p.data != nil; p = v.packets[v.next] {
		v.sum.Write(p.data)
		v.facts.PayloadBytes += uint64(p.bytes)
		p.data = nil
		v.next++
	}
}

func (v *View) outstanding() {
	f := &v.facts
	if v.sent < f.BytesRead {
		return // reported there
	}
	f.MaxOutstanding = max(f.MaxOutstanding, v.sent-f.BytesRead)
	if f.WindowBytes > 0 && f.MaxOutstanding > uint64(f.WindowBytes) {
		v.violation("window", "%d B were sent and not read, the window is %d B", f.MaxOutstanding, f.WindowBytes)
	}
}

func (v *View) acknowledgement(at time.Duration, conn int, from End, p *wire.Packet) {
	d := v.direction(conn, from)
	d.AckPackets++
	ranges, err := p.AckRanges()
	if err != nil {
		v.Malformed(conn, from, err)
		return
	}
	for i := range ranges {
		start, count := p.AckRange(i)
		for k := range count {
			sequence := start + k
			known := v.packets[sequence]
			// A range may be as long as its sender likes: the first that is not known ends it.
			if from == Sender || known == nil || known.on&(1<<conn) == 0 {
				v.violation("acknowledgement", "connection %d: %v acknowledged sequence %d, which had not arrived there", conn+1, from, sequence)
				return
			}
			d.AckedSequences++
			if !known.acked {
				known.acked = true
				v.inFlight--
				v.lastAck = at
			}
		}
	}
}

func (v *View) bytesRead(from End, read uint64) {
	if from == Sender {
		v.violation("sender read", "the sender reported %d B as read, but nothing was sent to it", read)
		return
	}
	if read > v.facts.PayloadBytes {
		v.violation("read", "%d B were reported as read when %d B had arrived in order", read, v.facts.PayloadBytes)
	}
	v.facts.BytesRead = max(v.facts.BytesRead, read)
}

// readUnacknowledged counts the sequences without an acknowledgement that the
// receiver has reported as read: that tells a sender as much.
func (v *View) readUnacknowledged() int {
	count, end := 0, uint64(0)
	for sequence := uint32(wire.MinSequence); ; sequence++ {
		p := v.packets[sequence]
		if p == nil {
			return count
		}
		if end += uint64(p.bytes); end > v.facts.BytesRead {
			return count
		}
		if !p.acked {
			count++
		}
	}
}

// Facts ends the view: what was found, and what should have come and did not.
func (v *View) Facts() Facts {
	f := &v.facts
	f.PayloadSHA256 = hex.EncodeToString(v.sum.Sum(nil))
	f.Unacknowledged = v.inFlight - v.readUnacknowledged()
	if f.Sequences > 0 && v.lastAck > v.firstData {
		f.LastedMS = float64(v.lastAck-v.firstData) / float64(time.Millisecond)
	}
	for end, h := range []*Handshake{&f.Sender, &f.Receiver} {
		if h.ClientIDs == nil {
			h.ClientIDs = []string{}
		}
		if h.Packets == 0 {
			v.violation(fmt.Sprint("no handshake ", end), "no handshake of %v", End(end))
		}
	}
	if missing := f.Sequences - int(v.next-wire.MinSequence); missing > 0 {
		v.violation("gap", "sequence %d is missing, and %d came after it", v.next, missing)
	}
	if f.Unacknowledged > 0 {
		v.violation("unacknowledged", "%d of %d sequences were never acknowledged, nor reported as read", f.Unacknowledged, f.Sequences)
	}
	if !v.closed[Sender] {
		v.violation("no close", "the sender did not close the session")
	}
	for i, c := range f.Connections {
		if c.Opened != 1 {
			v.violation(fmt.Sprint("opened ", i), "connection %d: %d TCP connections, want 1", i+1, c.Opened)
		}
		if c.FromSender.DataPackets == 0 {
			v.violation(fmt.Sprint("unused ", i), "connection %d carried no data", i+1)
		}
	}
	return *f
}
