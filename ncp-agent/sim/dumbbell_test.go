package sim

import (
	"fmt"
	"testing"
	"time"

	"ncp-testbed/internal/linkmodel"
)

// Sessions that share a bottleneck of 1024 packets/s, 50 ms there and back,
// with a drop-tail queue of 2 BDP, fill it and share it, whether they start
// together or one after the other.
func TestSharedBottleneck(t *testing.T) {
	t.Parallel()
	const during = 30 * time.Second
	for _, flows := range []int{2, 3, 4} {
		for _, apart := range []time.Duration{0, 3 * time.Second} {
			run := dumbbell(flows, apart, during)
			result := simulate(t, run)
			from := run.Transfers[flows-1].Start // all are there from then on
			first, last := make([]uint64, flows), make([]uint64, flows)
			for _, x := range result.Samples {
				if x.At <= from {
					first[x.Transfer] = x.Receiver.ReadBytes
				}
				last[x.Transfer] = x.Receiver.ReadBytes
			}
			rates := make([]float64, flows) // packets per second
			sum, squares := 0.0, 0.0
			for i := range rates {
				rates[i] = float64(last[i]-first[i]) / 1024 / during.Seconds()
			}
			for _, r := range rates {
				sum += r
				squares += r * r
			}
			jain := sum * sum / squares / float64(flows)
			t.Logf("%d flows, %v apart: %.0f packets/s, Jain's index %.3f, %d dropped", flows, apart, rates, jain, result.Links[0].AB.QueueFull)
			if jain < 0.9 {
				t.Errorf("Jain's index %.3f, want 0.9", jain)
			}
			if sum < 0.95*1024 {
				t.Errorf("%.0f packets/s in all, want 95%% of 1024", sum)
			}
		}
	}
}

func dumbbell(flows int, apart, during time.Duration) Run {
	access := linkmodel.Properties{FramesPPS: 10000, DelayMS: 5}
	core := linkmodel.Properties{FramesPPS: 1024, DelayMS: 20, Queue: linkmodel.Queue{Mode: linkmodel.QueueDropTail, Packets: 102}}
	run := Run{Links: []Link{{Name: "core", AB: core, BA: core}}, SampleInterval: 100 * time.Millisecond}
	for i := range flows {
		name := fmt.Sprint("access", i+1)
		run.Links = append(run.Links, Link{Name: name, AB: access, BA: access})
		x := transferOver([]path{{1, 1, 0}}, tinyQueue, "delivery-rate", 1<<30).Transfers[0]
		x.Name, x.Paths, x.Start = name, [][]string{{name, "core"}}, time.Duration(i)*apart
		run.Transfers = append(run.Transfers, x)
	}
	run.Until = run.Transfers[flows-1].Start + during
	return run
}
