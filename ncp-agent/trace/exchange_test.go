package trace

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"ncp-testbed/ncp-agent/wire"

	"pgregory.net/rapid"
)

// event is one packet as it passes a capture.
type event struct {
	conn   int
	from   End
	packet wire.Packet
}

// exchange is a session that keeps the protocol.
type exchange struct {
	offers  [2]Offer
	payload []byte
	events  []event
}

// drawExchange makes a session of any size: both handshakes, then data over any
// of the connections, some of it again, each acknowledged where it arrived
// before the window is full, and the sender's close.
func drawExchange(t *rapid.T) *exchange {
	ids := []string{"one", "two", "three", "four"}[:rapid.IntRange(1, 4).Draw(t, "connections")]
	mtu := rapid.Uint32Range(1, 40).Draw(t, "mtu")
	window := rapid.Uint32Range(mtu, 10*mtu).Draw(t, "window")
	x := &exchange{offers: [2]Offer{{ids, window + 7, mtu}, {ids, window, mtu + 3}}}
	for _, from := range []End{Sender, Receiver} {
		o := x.offers[from]
		for conn := range ids {
			x.events = append(x.events, event{conn, from, wire.Packet{Handshake: true, ClientIDs: o.ClientIDs, WindowBytes: o.WindowBytes, MTUBytes: o.MTUBytes}})
		}
	}
	var waiting []event // acknowledgements that are due
	outstanding := uint32(0)
	acknowledge := func() {
		for i := range waiting {
			waiting[i].packet.BytesRead = uint64(len(x.payload))
		}
		x.events = append(x.events, waiting...)
		waiting, outstanding = nil, 0
	}
	packets := rapid.IntRange(len(ids), 60).Draw(t, "packets")
	for i := range packets {
		data := rapid.SliceOfN(rapid.Byte(), 1, int(mtu)).Draw(t, "data")
		if outstanding+uint32(len(data)) > window || rapid.IntRange(0, 9).Draw(t, "acknowledge") == 0 {
			acknowledge()
		}
		outstanding += uint32(len(data))
		x.payload = append(x.payload, data...)
		conn := i // each at least once
		if i >= len(ids) {
			conn = rapid.IntRange(0, len(ids)-1).Draw(t, "conn")
		}
		times := 1 + rapid.IntRange(0, 1).Draw(t, "again")
		for range times {
			sequence := uint32(wire.MinSequence + i)
			x.events = append(x.events, event{conn, Sender, wire.Packet{Sequence: sequence, Data: data}})
			waiting = append(waiting, event{conn, Receiver, wire.Packet{AckStarts: []uint32{sequence}}})
		}
	}
	acknowledge()
	for conn := range ids {
		x.events = append(x.events, event{conn, Sender, wire.Packet{Close: true}})
	}
	return x
}

// facts is what a view finds in the exchange.
func (x *exchange) facts() Facts {
	v := NewView(x.offers[Sender], x.offers[Receiver])
	for i := range v.facts.Connections {
		v.facts.Connections[i].Opened = 1
	}
	for i, e := range x.events {
		v.Packet(time.Duration(i)*time.Millisecond, e.conn, e.from, &e.packet)
	}
	return v.Facts()
}

// find returns an event of a kind.
func (x *exchange) find(t *rapid.T, kind string, is func(*event) bool) int {
	var found []int
	for i := range x.events {
		if is(&x.events[i]) {
			found = append(found, i)
		}
	}
	return rapid.SampledFrom(found).Draw(t, kind)
}

func isData(e *event) bool      { return e.packet.Sequence > 0 }
func isAck(e *event) bool       { return len(e.packet.AckStarts) > 0 }
func isHandshake(e *event) bool { return e.packet.Handshake }

func (x *exchange) remove(keep func(*event) bool) {
	var kept []event
	for i := range x.events {
		if keep(&x.events[i]) {
			kept = append(kept, x.events[i])
		}
	}
	x.events = kept
}

func TestWhatKeepsTheProtocolHasNoViolation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := drawExchange(t)
		f := x.facts()
		sum := sha256.Sum256(x.payload)
		if len(f.Violations) > 0 {
			t.Fatalf("violations: %q", f.Violations)
		}
		if f.PayloadBytes != uint64(len(x.payload)) || f.PayloadSHA256 != hex.EncodeToString(sum[:]) {
			t.Fatalf("payload: %d bytes %s, sent were %d %x", f.PayloadBytes, f.PayloadSHA256, len(x.payload), sum)
		}
		if f.BytesRead != f.PayloadBytes || f.Unacknowledged != 0 || f.MaxOutstanding > uint64(f.WindowBytes) {
			t.Fatalf("%+v", f)
		}
		data := 0
		for _, c := range f.Connections {
			data += c.FromSender.DataPackets
		}
		if data != f.Sequences+f.ResentPackets {
			t.Fatalf("%d data packets, %d sequences, %d sent again", data, f.Sequences, f.ResentPackets)
		}
	})
}

// A receiver that reports all as read has told that all has arrived, whatever
// became of its acknowledgements.
func TestReadCountsAsAcknowledged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := drawExchange(t)
		for i := range x.events {
			if p := &x.events[i].packet; isAck(&x.events[i]) {
				p.AckStarts, p.AckCounts = nil, nil
			}
		}
		if f := x.facts(); len(f.Violations) > 0 || f.Unacknowledged != 0 {
			t.Fatalf("%d unacknowledged, violations %q", f.Unacknowledged, f.Violations)
		}
	})
}

// Each breach of the protocol, made in an exchange that keeps it, is named.
func TestWhatBreaksTheProtocolIsNamed(t *testing.T) {
	breaches := map[string]struct {
		make func(t *rapid.T, x *exchange)
		want string
	}{
		"no handshake of the receiver": {func(t *rapid.T, x *exchange) {
			x.remove(func(e *event) bool { return !e.packet.Handshake || e.from == Sender })
		}, "no handshake of the receiver"},
		"other window": {func(t *rapid.T, x *exchange) {
			x.events[0].packet.WindowBytes++
		}, "handshake of the sender"},
		"other client": {func(t *rapid.T, x *exchange) {
			for i := range x.events {
				if isHandshake(&x.events[i]) && x.events[i].from == Receiver {
					x.events[i].packet.ClientIDs = []string{"else"}
				}
			}
		}, "handshake of the receiver"},
		"handshakes differ": {func(t *rapid.T, x *exchange) {
			e := x.events[0]
			e.packet.MTUBytes++
			x.events = append(x.events, e)
		}, "the handshakes of the sender differ"},
		"data before the handshake": {func(t *rapid.T, x *exchange) {
			x.events = append([]event{{0, Sender, wire.Packet{Sequence: 1, Data: []byte{1}}}}, x.events...)
		}, "before both handshakes"},
		"beyond the MTU": {func(t *rapid.T, x *exchange) {
			e := &x.events[x.find(t, "data", isData)]
			e.packet.Data = bytes.Repeat([]byte{1}, int(x.offers[Sender].MTUBytes)+1)
		}, "agreed are"},
		"no data in a data packet": {func(t *rapid.T, x *exchange) {
			x.events[x.find(t, "data", isData)].packet.Data = nil
		}, "has 0 B of data"},
		"beyond the window": {func(t *rapid.T, x *exchange) {
			for i := range x.events {
				x.events[i].packet.BytesRead = 0
			}
			o := x.offers[Receiver]
			last := event{0, Sender, wire.Packet{Data: bytes.Repeat([]byte{1}, int(x.offers[Sender].MTUBytes))}}
			var more []event
			for sent := uint32(len(x.payload)); sent <= o.WindowBytes; sent += uint32(len(last.packet.Data)) {
				last.packet.Sequence = 1000 + sent
				more = append(more, last)
			}
			closes := len(x.events) - len(o.ClientIDs)
			x.events = append(x.events[:closes:closes], append(more, x.events[closes:]...)...)
		}, "were sent and not read"},
		"other data": {func(t *rapid.T, x *exchange) {
			e := x.events[x.find(t, "data", isData)]
			e.packet.Data = bytes.Clone(e.packet.Data)
			e.packet.Data[0] ^= 1
			x.events = append(x.events, e)
		}, "was sent again with other data"},
		"acknowledged before it came": {func(t *rapid.T, x *exchange) {
			i := x.find(t, "acknowledgement", isAck)
			x.events[i].packet.AckStarts = []uint32{1000}
		}, "which had not arrived there"},
		"acknowledged far beyond": {func(t *rapid.T, x *exchange) {
			i := x.find(t, "acknowledgement", isAck)
			x.events[i].packet.AckCounts = []uint32{1<<32 - 1}
		}, "which had not arrived there"},
		"acknowledged on another connection": {func(t *rapid.T, x *exchange) {
			if len(x.offers[Sender].ClientIDs) == 1 {
				t.Skip("there is no other")
			}
			e := &x.events[x.find(t, "acknowledgement", isAck)]
			e.conn = (e.conn + 1) % len(x.offers[Sender].ClientIDs)
		}, "which had not arrived there"},
		"acknowledged by the sender": {func(t *rapid.T, x *exchange) {
			x.events[x.find(t, "acknowledgement", isAck)].from = Sender
		}, "which had not arrived there"},
		"acknowledgement that is none": {func(t *rapid.T, x *exchange) {
			x.events[x.find(t, "acknowledgement", isAck)].packet.AckCounts = []uint32{1, 1}
		}, wire.ErrAckLists.Error()},
		"never acknowledged": {func(t *rapid.T, x *exchange) {
			lost := x.events[x.find(t, "acknowledgement", isAck)].packet.AckStarts[0]
			x.remove(func(e *event) bool { return !isAck(e) || e.packet.AckStarts[0] != lost })
			for i := range x.events {
				x.events[i].packet.BytesRead = 0
			}
		}, "were never acknowledged"},
		"read before it came": {func(t *rapid.T, x *exchange) {
			x.events[x.find(t, "acknowledgement", isAck)].packet.BytesRead = uint64(len(x.payload)) + 1
		}, "were reported as read"},
		"a sequence is missing": {func(t *rapid.T, x *exchange) {
			i := x.find(t, "data", isData)
			gone, last := x.events[i].packet.Sequence, uint32(0)
			for _, e := range x.events {
				last = max(last, e.packet.Sequence)
			}
			if gone == last {
				t.Skip("the last one leaves no gap")
			}
			x.remove(func(e *event) bool { return e.packet.Sequence != gone })
		}, "is missing"},
		"data from the receiver": {func(t *rapid.T, x *exchange) {
			x.events = append(x.events, event{0, Receiver, wire.Packet{Sequence: 1, Data: []byte{1}}})
		}, "the receiver sent data"},
		"new data after the close": {func(t *rapid.T, x *exchange) {
			x.events = append(x.events, event{0, Sender, wire.Packet{Sequence: 1000, Data: []byte{1}}})
		}, "new after the sender's close"},
		"no close": {func(t *rapid.T, x *exchange) {
			x.remove(func(e *event) bool { return !e.packet.Close })
		}, "did not close"},
		"a connection that is not used": {func(t *rapid.T, x *exchange) {
			x.remove(func(e *event) bool { return e.conn != 0 || e.packet.Sequence == 0 })
		}, "connection 1 carried no data"},
	}
	for name, breach := range breaches {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				x := drawExchange(t)
				breach.make(t, x)
				if f := x.facts(); !strings.Contains(strings.Join(f.Violations, "\n"), breach.want) {
					t.Fatalf("violations: %q, want one with %q", f.Violations, breach.want)
				}
			})
		})
	}
}
