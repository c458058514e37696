package session

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"ncp-testbed/ncp-agent/wire"
)

// A resend keeps its first timestamp, so it times out again at the next check.
func TestResendKeepsItsTimestamp(t *testing.T) {
	a, _ := pair(t, 1, nil)
	writeAll(t, 0, a, 1024)
	take(t, 0, 0, a)
	sends := 0
	for now := 5*time.Second + 50*ms; now < 6*time.Second; now += 50 * ms {
		a.Advance(now)
		sends += drain(now, 0, a)
	}
	if sends != 19 {
		t.Errorf("%d resends in 0.95 s, want one per 50 ms check", sends)
	}
	if got := a.conns[0].inFlight; got != 1 {
		t.Errorf("%d in flight, want 1", got)
	}
}

// A connection without window room looks for resends once a second only.
func TestFullConnectionPollsForResends(t *testing.T) {
	a, _ := pair(t, 2, func(c *Config) { c.Policy = "previous"; c.InitialWindows = []float64{1, 1} })
	writeAll(t, 0, a, 1024)
	take(t, 0, 0, a)
	now := 4900 * ms
	writeAll(t, now, a, 1024)
	take(t, now, 1, a) // full from here on
	if drain(now, 1, a) != 0 {
		t.Fatal("sent beyond the window")
	}
	now = 5050 * ms
	a.Advance(now)
	if a.Ready(now, 1) {
		t.Error("a full connection took a resend at once")
	}
	if a.Deadline() > 5900*ms {
		t.Errorf("deadline %v, want the poll at 5.9 s or earlier", a.Deadline())
	}
	a.Advance(5900 * ms)
	if p, ok := take(t, 5900*ms, 1, a); !ok || p.Sequence != 1 {
		t.Errorf("after a second: %+v, %v, want the resend", p, ok)
	}
}

func TestWriteError(t *testing.T) {
	a, _ := pair(t, 2, nil)
	writeAll(t, 0, a, 1024)
	if _, ok := a.NextPacket(0, 0, nil); !ok {
		t.Fatal("nothing to send")
	}
	a.WriteError(0, 0)
	var st Stats
	a.ReadStats(&st)
	w0, w1 := st.Connections[0].WindowPackets, st.Connections[1].WindowPackets
	if math.Abs(w0-4096/3.) > 1e-6 || math.Abs(w1-8192/3.) > 1e-6 {
		t.Errorf("windows %v and %v, want one halved and both scaled to 4096", w0, w1)
	}
	if st.Connections[0].InFlightPackets != 0 || st.Connections[0].Sent != 0 {
		t.Errorf("a refused packet counts as sent: %+v", st.Connections[0])
	}
	if a.Ready(999*ms, 0) || !a.Ready(1000*ms, 0) {
		t.Error("want a second's pause after a write error")
	}
	if p, ok := take(t, 0, 1, a); !ok || p.Sequence != 1 {
		t.Errorf("the other connection sends %+v, %v, want the refused packet", p, ok)
	}
}

func TestFlowControl(t *testing.T) {
	a, b := pair(t, 1, func(c *Config) { c.WindowBytes = 8 * 1024; c.InitialWindows = []float64{64} })
	written := 0
	for range 20 {
		written += a.Write(0, make([]byte, 1024))
		drain(0, 0, a)
	}
	if written != 8*1024 {
		t.Fatalf("wrote %d bytes into a window of 8192", written)
	}
	for _, p := range []wire.Packet{{BytesRead: 3000}, {BytesRead: 2000}, {BytesRead: 1 << 60}} {
		if err := a.Receive(0, 0, p.Append(nil)); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		written += a.Write(0, make([]byte, 1024))
		drain(0, 0, a)
	}
	if written != 8*1024+3000 {
		t.Errorf("wrote %d bytes after the peer read 3000, want 8192 + 3000", written)
	}
	// The other end refuses what goes beyond its window, unacknowledged.
	big := wire.Packet{Data: make([]byte, 1024)}
	for i := range 9 {
		big.Sequence = uint32(i + 1)
		err := b.Receive(0, 0, big.Append(nil))
		if i < 8 && err != nil || i == 8 && !errors.Is(err, ErrWindowFull) {
			t.Errorf("packet %d: %v", i, err)
		}
	}
	b.Advance(50 * ms)
	if p, _ := take(t, 50*ms, 0, b); !slices.Equal(p.AckCounts, []uint32{8}) {
		t.Errorf("acknowledged %v packets, want 8", p.AckCounts)
	}
}

// When the application reads later than the acknowledgement, the peer learns
// of it by a report of its own, 200 ms after.
func TestBytesReadReport(t *testing.T) {
	a, b := pair(t, 2, nil)
	writeAll(t, 0, a, 1024)
	deliver(t, 0, 0, a, b)
	b.Advance(50 * ms)
	take(t, 50*ms, 0, b)
	if n, err := b.Read(60*ms, make([]byte, 2000)); n != 1024 || err != nil {
		t.Fatalf("read %d, %v", n, err)
	}
	for now := 100 * ms; now < 300*ms; now += 50 * ms {
		b.Advance(now)
		if b.Ready(now, 0) || b.Ready(now, 1) {
			t.Fatalf("reported already at %v", now)
		}
	}
	b.Advance(300 * ms)
	for c := range 2 {
		if p, ok := take(t, 300*ms, c, b); !ok || p.BytesRead != 1024 {
			t.Errorf("connection %d reports %+v, %v", c, p, ok)
		}
	}
	b.Advance(400 * ms)
	if b.Ready(400*ms, 0) {
		t.Error("reported twice")
	}
}

func TestPartialPacketWaits(t *testing.T) {
	a, _ := pair(t, 1, nil)
	writeAll(t, 0, a, 100) // an idle session sends at once
	if p, ok := take(t, 0, 0, a); !ok || len(p.Data) != 100 {
		t.Fatalf("got %+v, %v", p, ok)
	}
	writeAll(t, 0, a, 100)
	if a.Ready(9*ms, 0) || a.Deadline() != 10*ms {
		t.Errorf("want a packet that is not full to wait 10 ms, deadline %v", a.Deadline())
	}
	writeAll(t, 5*ms, a, 50)
	a.Advance(10 * ms)
	if p, ok := take(t, 10*ms, 0, a); !ok || len(p.Data) != 150 {
		t.Errorf("flushed %d bytes, %v", len(p.Data), ok)
	}
}

// Sequence numbers run from 2³²−1 to 1; nothing else changes there.
func TestSequenceWrap(t *testing.T) {
	a, b := pair(t, 1, nil)
	const start = sequences - 5
	for _, s := range []*Session{a, b} {
		s.sender.segments.base, s.sender.segments.end, s.sender.next = start, start, start
		s.receiver.segments.base, s.receiver.segments.end = start, start
	}
	writeAll(t, 0, a, 10*1024)
	for range 10 {
		deliver(t, 0, 0, a, b)
	}
	b.Advance(50 * ms)
	p, _ := take(t, 50*ms, 0, b)
	if !slices.Equal(p.AckStarts, []uint32{1<<32 - 5}) || !slices.Equal(p.AckCounts, []uint32{10}) {
		t.Fatalf("acknowledges %v, %v", p.AckStarts, p.AckCounts)
	}
	if err := a.Receive(60*ms, 0, p.Append(nil)); err != nil {
		t.Fatal(err)
	}
	if a.Unacknowledged() != 0 {
		t.Errorf("%d packets left", a.Unacknowledged())
	}
	if n, _ := b.Read(60*ms, make([]byte, 20000)); n != 10*1024 {
		t.Errorf("read %d bytes", n)
	}
}

func TestHostileAcks(t *testing.T) {
	a, _ := pair(t, 1, nil)
	writeAll(t, 0, a, 10*1024)
	for range 5 {
		take(t, 0, 0, a)
	}
	for _, p := range []wire.Packet{
		{AckStarts: []uint32{0}},                                            // no sequence
		{AckStarts: []uint32{6}, AckCounts: []uint32{5}},                    // written, never sent
		{AckStarts: []uint32{11}, AckCounts: []uint32{math.MaxUint32 - 20}}, // ends before the window
		{AckStarts: []uint32{math.MaxUint32}, AckCounts: []uint32{1}},       // behind
		{AckStarts: []uint32{1, 2}, AckCounts: []uint32{0, 0}},              // empty
	} {
		if err := a.Receive(0, 0, p.Append(nil)); err != nil || a.Unacknowledged() != 10 {
			t.Errorf("%+v: %v, %d packets left, want 10", p, err, a.Unacknowledged())
		}
	}
	uneven := wire.Packet{AckStarts: []uint32{1, 2}, AckCounts: []uint32{1}}
	if err := a.Receive(0, 0, uneven.Append(nil)); !errors.Is(err, wire.ErrAckLists) {
		t.Errorf("uneven lists: %v", err)
	}
	whole := wire.Packet{AckStarts: []uint32{math.MaxUint32 - 1}, AckCounts: []uint32{math.MaxUint32}}
	if err := a.Receive(0, 0, whole.Append(nil)); err != nil || a.Unacknowledged() != 5 {
		t.Errorf("everything: %v, %d packets left, want the 5 never sent", err, a.Unacknowledged())
	}
}
