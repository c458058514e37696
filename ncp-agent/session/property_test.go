package session

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// drawPaths makes paths with every fault a network has.
func drawPaths(rt *rapid.T, n int) []path {
	paths := make([]path, n)
	for i := range paths {
		paths[i] = path{
			pps:    rapid.Float64Range(200, 20000).Draw(rt, "pps"),
			delay:  time.Duration(rapid.IntRange(0, 300).Draw(rt, "delay ms")) * time.Millisecond,
			jitter: time.Duration(rapid.IntRange(0, 100).Draw(rt, "jitter ms")) * time.Millisecond,
			queue:  rapid.IntRange(1, 200).Draw(rt, "queue"),
			loss:   rapid.Float64Range(0, 0.2).Draw(rt, "loss"),
			copies: rapid.Float64Range(0, 0.2).Draw(rt, "copies"),
		}
	}
	return paths
}

func drawConfig(rt *rapid.T, ids []string) Config {
	cfg := Default(ids...)
	cfg.Policy = rapid.SampledFrom([]string{"previous", "nkp24", "delivery-rate"}).Draw(rt, "policy")
	cfg.MTUBytes = uint32(rapid.IntRange(1, 1500).Draw(rt, "mtu"))
	cfg.WindowBytes = cfg.MTUBytes * uint32(rapid.IntRange(1, 200).Draw(rt, "window packets"))
	cfg.MaxAckRanges = rapid.IntRange(1, 64).Draw(rt, "ack ranges")
	cfg.AckRepeats = rapid.IntRange(0, 3).Draw(rt, "ack repeats")
	return cfg
}

// Whatever the paths do, both directions deliver every byte once and in order,
// and neither end holds more than its window and its bound of packets.
func TestDeliversOverFaultyPaths(t *testing.T) {
	ids := []string{"1", "2", "3", "4", "5"}
	rapid.Check(t, func(rt *rapid.T) {
		a := drawConfig(rt, ids[:rapid.IntRange(1, 5).Draw(rt, "connections a")])
		b := drawConfig(rt, ids[:rapid.IntRange(1, 5).Draw(rt, "connections b")])
		n := max(len(a.ClientIDs), len(b.ClientIDs))
		w := newWorld(t, rapid.Uint64().Draw(rt, "seed"), a, b, drawPaths(rt, n)[:len(a.ClientIDs)], drawPaths(rt, n)[:len(b.ClientIDs)])
		w.sees = dropUnpaired(w, min(len(a.ClientIDs), len(b.ClientIDs)))
		packets := rapid.IntRange(0, 300).Draw(rt, "packets")
		mtu := int(min(a.MTUBytes, b.MTUBytes))
		there := &transfer{t: t, from: w.ends[0], to: w.ends[1], total: packets * mtu}
		back := &transfer{t: t, from: w.ends[1], to: w.ends[0], total: rapid.IntRange(0, packets).Draw(rt, "packets back") * mtu}
		w.app = func() { there.step(w.now); back.step(w.now) }
		steps := 0
		w.onStep = func() {
			if steps++; steps%16 == 0 {
				checkSession(rt, w.ends[0])
				checkSession(rt, w.ends[1])
			}
		}
		if !w.run(2*time.Hour, func() bool { return there.done() && back.done() }) {
			rt.Fatalf("stuck: %d of %d bytes there, %d of %d back", there.read, there.total, back.read, back.total)
		}
		w.ends[0].Close(w.now)
		closed := func() bool { return w.ends[0].State() == Closed && w.ends[1].State() == Closed }
		if !w.run(w.now+time.Minute, closed) && w.ends[0].State() != Closed {
			rt.Fatal("the closing end did not come to its end")
		}
	})
}

// dropUnpaired keeps packets of connections that the other end does not have
// from reaching it.
func dropUnpaired(w *world, paired int) func(end, conn int, packet []byte) {
	return func(_, conn int, _ []byte) {
		if conn >= paired && w.ends[0].Connections() > 0 && w.ends[1].Connections() > 0 {
			w.t.Fatalf("a packet on connection %d, though only %d are paired", conn, paired)
		}
	}
}

// Two runs of the same seed make the same packets at the same times.
func TestSameSeedSameRun(t *testing.T) {
	type seen struct {
		at     time.Duration
		end, c int
		packet string
	}
	record := func() (log []seen) {
		cfg := Default("1", "2", "3")
		lossy := func() []path {
			return []path{
				{pps: 1000, delay: 20 * time.Millisecond, queue: 40, loss: 0.05},
				{pps: 300, delay: 70 * time.Millisecond, queue: 40, jitter: 30 * time.Millisecond},
				{pps: 50, delay: 5 * time.Millisecond, queue: 2, copies: 0.1},
			}
		}
		w := newWorld(t, 7, cfg, cfg, lossy(), lossy())
		x := &transfer{t: t, from: w.ends[0], to: w.ends[1], total: 2 << 20}
		w.app = func() { x.step(w.now) }
		w.sees = func(end, conn int, packet []byte) { log = append(log, seen{w.now, end, conn, string(packet)}) }
		if !w.run(time.Minute, x.done) {
			t.Fatal("stuck")
		}
		return log
	}
	first, second := record(), record()
	if len(first) != len(second) {
		t.Fatalf("%d and %d packets", len(first), len(second))
	}
	for i := range first {
		if first[i] != second[i] {
			t.Fatalf("packet %d differs: %v on %d.%d and %v on %d.%d", i,
				first[i].at, first[i].end, first[i].c, second[i].at, second[i].end, second[i].c)
		}
	}
}

func TestPositionsAndSequences(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		near := rapid.Uint64Range(0, 1<<40).Draw(rt, "near")
		offset := rapid.Int64Range(-(1<<31)+2, 1<<31-2).Draw(rt, "offset")
		want := int64(near) + offset
		if want < 0 {
			return
		}
		sequence := sequenceOf(uint64(want))
		got, ok := positionNear(near, sequence)
		if sequence == 0 || !ok || got != uint64(want) {
			rt.Fatalf("position %d is sequence %d, which near %d reads as %d, %v", want, sequence, near, got, ok)
		}
	})
	if got := sequenceOf(sequences - 1); got != 1<<32-1 {
		t.Errorf("the last sequence is %d", got)
	}
	if got := sequenceOf(sequences); got != 1 {
		t.Errorf("after the last sequence comes %d, want 1", got)
	}
}
