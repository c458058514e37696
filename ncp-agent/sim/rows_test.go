package sim

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"ncp-testbed/internal/linkmodel"
	"ncp-testbed/ncp-agent/policy"
	"ncp-testbed/ncp-agent/session"
)

// path is a connection's link in the proposal's terms.
type path struct {
	pps     float64
	delayMS float64
	loss    float64
}

// queueKind is where a link's queue is.
type queueKind struct {
	name, mode string
	packets    int // 0: one BDP
}

func (q queueKind) queue(p path) linkmodel.Queue {
	return linkmodel.Queue{Mode: q.mode, Packets: cmp.Or(q.packets, max(1, int(p.pps*2*p.delayMS/1e3)))}
}

// Mockconn has no queue in front of its limiter, and a buffer of one BDP that
// counts what is on the line: that comes near to a queue of two packets. A real
// sender has a queue at its own egress, or meets one further on that drops.
var (
	tinyQueue = queueKind{"back-pressure, 2 packets", linkmodel.QueueBackPressure, 2}
	bdpQueue  = queueKind{"back-pressure, 1 BDP", linkmodel.QueueBackPressure, 0}
	dropTail  = queueKind{"drop-tail, 1 BDP", linkmodel.QueueDropTail, 0}

	queueKinds = []queueKind{tinyQueue, bdpQueue, dropTail}
)

// row is a row of the proposal's table.
type row struct {
	name  string
	paths []path
	mib   int64
}

func rowOf(name string, mib int64, fast path, more int, slow path) row {
	r := row{name, []path{fast}, mib}
	for range more {
		r.paths = append(r.paths, slow)
	}
	return r
}

var rows = []row{
	rowOf("1", 8, path{1024, 50, 0}, 0, path{}),
	rowOf("2", 8, path{1024, 50, 0}, 1, path{128, 500, 0}),
	rowOf("3", 8, path{1024, 50, 0}, 2, path{128, 500, 0}),
	rowOf("4", 8, path{1024, 50, 0}, 3, path{128, 500, 0}),
	rowOf("5", 8, path{1024, 50, 0}, 4, path{128, 500, 0}),
	rowOf("6", 80, path{1024, 50, 0}, 1, path{1024, 500, 0}),
	rowOf("7", 8, path{1024, 50, .01}, 1, path{1024, 50, .1}),
	{"7'", []path{{1024, 50, 0}, {1024, 50, .01}, {1024, 50, .1}}, 8},
}

// bound is what the links carry in all, in MiB/s at 1 KiB packets.
func (r row) bound() float64 {
	sum := 0.0
	for _, p := range r.paths {
		sum += p.pps * (1 - p.loss)
	}
	return sum / 1024
}

func (r row) lossy() bool {
	return slices.ContainsFunc(r.paths, func(p path) bool { return p.loss > 0 })
}

// optimum is the goodput in MiB/s of a sender that knows all: every link busy
// from the start, and nothing on a link that arrives after the last packet of
// the fastest. A link's first packet arrives a delay after it was sent.
func (r row) optimum() float64 {
	packets := float64(r.mib) * 1024
	arrived := func(seconds float64) (sum float64) {
		for _, p := range r.paths {
			sum += max(0, math.Floor((seconds-p.delayMS/1e3)*p.pps)) * (1 - p.loss)
		}
		return sum
	}
	low, high := 0.0, 1000.0
	for range 60 {
		if middle := (low + high) / 2; arrived(middle) < packets {
			low = middle
		} else {
			high = middle
		}
	}
	return float64(r.mib) / high
}

// transferOver makes a run of one session over parallel links.
func transferOver(paths []path, q queueKind, policy string, bytes int64) Run {
	var run Run
	var ids []string
	t := Transfer{Name: "s", Bytes: bytes}
	for i, p := range paths {
		name := fmt.Sprint("link", i+1)
		properties := linkmodel.Properties{FramesPPS: p.pps, Queue: q.queue(p), DelayMS: p.delayMS}
		properties.Loss = p.loss
		run.Links = append(run.Links, Link{Name: name, AB: properties, BA: properties})
		t.Paths = append(t.Paths, []string{name})
		ids = append(ids, name)
	}
	t.Sender = session.Default(ids...)
	t.Sender.Policy = policy
	t.Receiver = session.Default(ids...)
	run.Transfers = []Transfer{t}
	run.Seed = 1
	run.Until = 300 * time.Second
	return run
}

func simulate(t testing.TB, run Run) *Result {
	t.Helper()
	r, err := Simulate(run)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// goodput is a transfer's, in MiB/s.
func goodput(x *TransferResult) float64 { return x.GoodputBPS() / 8 / (1 << 20) }

// duplicates is the share of data packets that arrived and were not needed.
func duplicates(x *TransferResult) float64 {
	received, delivered := uint64(0), uint64(0)
	for _, c := range x.Receiver.Connections {
		received += c.Received
		delivered += c.Delivered
	}
	return 1 - float64(delivered)/float64(received)
}

// Rows 1 to 6, whatever the queue: 97% of what the links carry, or within 1% of
// the optimum where the delays alone cost more (rows 4 and 5).
func TestRowsWithoutLoss(t *testing.T) {
	t.Parallel()
	for _, q := range queueKinds {
		for _, r := range rows[:6] {
			x := simulate(t, transferOver(r.paths, q, "delivery-rate", r.mib<<20)).Transfers[0]
			want := min(0.97*r.bound(), 0.99*r.optimum())
			if got := goodput(&x); got < want {
				t.Errorf("%s, row %s: %.3f MiB/s, want %.3f (bound %.3f, optimum %.3f)", q.name, r.name, got, want, r.bound(), r.optimum())
			}
			if d := duplicates(&x); d > 0.03 {
				t.Errorf("%s, row %s: %.1f%% of what arrived was there already", q.name, r.name, 100*d)
			}
		}
	}
}

// Rows 7 and 7′: 90% of what the links carry if the receiver repeats each range
// once. One that acknowledges each packet once, as upstream's does, makes the
// sender send again what a lost acknowledgement was for. A link that loses p in
// both directions so brings (1−p)² of its rate, in row 7 94.8% of the bound
// before any delay. The mean of several seeds counts.
func TestRowsWithLoss(t *testing.T) {
	t.Parallel()
	const seeds = 8
	for _, q := range queueKinds {
		for _, r := range rows[6:] {
			for repeats, want := range []float64{0.87, 0.9} {
				sum := 0.0
				for seed := range uint64(seeds) {
					run := transferOver(r.paths, q, "delivery-rate", r.mib<<20)
					run.Transfers[0].Receiver.AckRepeats = repeats
					run.Seed = seed
					x := simulate(t, run).Transfers[0]
					sum += goodput(&x) / r.bound() / seeds
				}
				t.Logf("%s, row %s, ranges repeated %d times: %.1f%% of the bound", q.name, r.name, repeats, 100*sum)
				if sum < want {
					t.Errorf("want %.0f%%", 100*want)
				}
			}
		}
	}
}

// Upstream's writers take turns packet by packet, as over a queue of one: then
// two equal links need more than 32 ranges per acknowledgement, RTTs grow, and
// two of 4096 packets/s give 2.45 of 8 MiB/s (8.0 with 512 ranges). Linux lets
// a writer have several packets in a row, so that 32 are enough at 1024.
func TestTakingTurnsPacketByPacketNeedsMoreRanges(t *testing.T) {
	t.Parallel()
	one := queueKind{"back-pressure, 1 packet", linkmodel.QueueBackPressure, 1}
	for _, c := range []struct {
		queue       queueKind
		pps         float64
		ranges      int
		least, most float64 // MiB/s
		rttMS       float64 // mean, at most
	}{
		{one, 4096, 32, 0.9 * 2.45, 1.1 * 2.45, 5000},
		{one, 4096, 512, 7, 8, 150},
		{one, 1024, 32, 0, 2, 5000},
		{tinyQueue, 1024, 32, 1.9, 2, 150},
	} {
		run := transferOver([]path{{c.pps, 50, 0}, {c.pps, 50, 0}}, c.queue, "nkp24", 8<<20)
		run.Transfers[0].Receiver.MaxAckRanges = c.ranges
		result := simulate(t, run)
		samples, rttMS := result.since(0), 0.0
		for i := range samples {
			rttMS += samples[i].Sender.Connections[0].RTT.Seconds() * 1e3 / float64(len(samples))
		}
		got := goodput(&result.Transfers[0])
		t.Logf("%s, 2 × %.0f packets/s, %d ranges: %.3f MiB/s, mean RTT %.0f ms", c.queue.name, c.pps, c.ranges, got, rttMS)
		if got < c.least || got > c.most || rttMS > c.rttMS {
			t.Errorf("want %.2f to %.2f MiB/s, at most %.0f ms", c.least, c.most, c.rttMS)
		}
	}
}

// The table of all policies; -v shows it, with means of eight seeds where
// packets are lost by chance, and others' schedulers over every queue.
func TestTable(t *testing.T) {
	t.Parallel()
	for _, q := range queueKinds {
		for _, r := range rows {
			seeds := uint64(1)
			if testing.Verbose() && r.lossy() {
				seeds = 8
			}
			line := fmt.Sprintf("%-24s row %-2s bound %.3f optimum %.3f", q.name, r.name, r.bound(), r.optimum())
			for _, p := range policy.Names() {
				if q != tinyQueue && choosers[p] && !testing.Verbose() {
					continue
				}
				mean, twice := 0.0, 0.0
				var result *Result
				for seed := range seeds {
					run := transferOver(r.paths, q, p, r.mib<<20)
					run.Seed += seed
					result = simulate(t, run)
					if !result.Done() {
						t.Errorf("%s, row %s, %s: not done after %v", q.name, r.name, p, result.EndedAt)
					}
					mean += goodput(&result.Transfers[0]) / float64(seeds)
					twice += duplicates(&result.Transfers[0]) / float64(seeds)
				}
				line += fmt.Sprintf(" | %s %.3f MiB/s %5.1f%%, %4.1f%% twice, RTT %s", p, mean, 100*mean/r.bound(), 100*twice, rttRatios(result, r.paths))
			}
			t.Log(line)
		}
	}
}
