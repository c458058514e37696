package session

import (
	"slices"
	"testing"
	"time"

	"ncp-testbed/ncp-agent/wire"
)

// What was acknowledged is repeated at the next ticks, as often as asked, in
// the ranges that are left; what meets is one range.
func TestAckRepeats(t *testing.T) {
	a, b := pair(t, 2, func(c *Config) { c.AckRepeats = 2; c.MaxAckRanges = 3 })
	writeAll(t, 0, a, 12*1024)
	acks := func(now time.Duration) (starts, counts []uint32) {
		t.Helper()
		b.Advance(now)
		p, _ := take(t, now, 0, b)
		if q, ok := take(t, now, 0, b); ok {
			t.Errorf("at %v a second packet, %+v", now, q)
		}
		return p.AckStarts, p.AckCounts
	}
	want := func(now time.Duration, starts, counts []uint32) {
		t.Helper()
		if gotStarts, gotCounts := acks(now); !slices.Equal(gotStarts, starts) || !slices.Equal(gotCounts, counts) {
			t.Errorf("at %v: %v, %v, want %v, %v", now, gotStarts, gotCounts, starts, counts)
		}
	}
	for _, c := range []int{0, 0, 1, 0} { // sequences 1, 2 and 4
		deliver(t, 0, c, a, b)
	}
	want(50*ms, []uint32{1, 4}, []uint32{2, 1})
	for _, c := range []int{0, 0, 1, 0} { // 5, 6 and 8
		deliver(t, 60*ms, c, a, b)
	}
	want(100*ms, []uint32{4, 8}, []uint32{3, 1}) // 4 repeated; 1 and 2 found no room
	want(150*ms, []uint32{4, 8}, []uint32{3, 1}) // of the last three ranges, all again
	want(200*ms, []uint32{5, 8}, []uint32{2, 1})
	want(250*ms, nil, nil)
}

// An end that repeats its acknowledgements costs its peer fewer resends where
// some get lost, and does a peer that is not told of it no harm.
func TestAckRepeatsSaveResends(t *testing.T) {
	resent := func(repeats int) uint64 {
		plain := Default("1")
		plain.Policy = "previous"
		repeating := plain
		repeating.AckRepeats = repeats
		w := newWorld(t, 1, plain, repeating, []path{{pps: 1000, delay: 20 * ms, queue: 40}}, []path{{pps: 1000, delay: 20 * ms, queue: 40, loss: 0.2}})
		x := &transfer{t: t, from: w.ends[0], to: w.ends[1], total: 1 << 20}
		w.app = func() { x.step(w.now) }
		if !w.run(10*time.Minute, x.done) {
			t.Fatalf("stuck at %d bytes", x.read)
		}
		return w.ends[0].conns[0].resent
	}
	without, with := resent(0), resent(2)
	t.Logf("resent %d packets without repeats, %d with", without, with)
	if with*4 > without {
		t.Errorf("resent %d packets without repeats, %d with: want a quarter at most", without, with)
	}
}

// A peer whose window is full waits for the report of what was read: it comes
// again when it is lost, ever more rarely, and not where nobody can be waiting.
func TestReportIsRepeated(t *testing.T) {
	a, b := pair(t, 1, func(c *Config) { c.WindowBytes = 4 * 1024 })
	for range 4 {
		writeAll(t, 0, a, 1024)
		deliver(t, 0, 0, a, b)
	}
	b.Advance(50 * ms)
	deliver(t, 50*ms, 0, b, a) // all acknowledged, nothing read
	b.Read(60*ms, make([]byte, 4*1024))
	var at []time.Duration
	for now := 100 * ms; now < 20*time.Second; now += 100 * ms {
		b.Advance(now)
		if p, ok := take(t, now, 0, b); ok {
			at = append(at, now)
			if p.BytesRead != 4*1024 {
				t.Errorf("reports %d bytes", p.BytesRead)
			}
		}
	}
	want := []time.Duration{300 * ms, 500 * ms, 900 * ms, 1700 * ms, 3300 * ms, 6500 * ms, 12900 * ms}
	if !slices.Equal(at, want) {
		t.Errorf("reports at %v, want %v", at, want)
	}
	if a.Writable() {
		t.Fatal("the window is not full")
	}
	report := wire.Packet{BytesRead: b.receiver.read}
	a.Receive(b.now, 0, report.Append(nil))
	if !a.Writable() {
		t.Error("the window is still full")
	}
}

// An application that reads a little all the time is reported all the same.
func TestSlowReadingIsReported(t *testing.T) {
	a, b := pair(t, 1, func(c *Config) { c.WindowBytes = 64 * 1024 })
	for range 8 {
		writeAll(t, 0, a, 1024)
		deliver(t, 0, 0, a, b)
	}
	b.Advance(50 * ms)
	take(t, 50*ms, 0, b)
	reports := 0
	for now := 60 * ms; now < time.Second; now += 20 * ms {
		b.Read(now, make([]byte, 100))
		b.Advance(now)
		reports += drain(now, 0, b)
	}
	if reports < 3 || reports > 5 {
		t.Errorf("%d reports in a second, want one every 200 to 300 ms", reports)
	}
}
