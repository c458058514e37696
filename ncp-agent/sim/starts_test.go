package sim

import (
	"testing"
	"time"

	"ncp-testbed/ncp-agent/policy"
)

// From three starts the windows reach the ratio of the rates, 8:1, and stay
// there, and so does what arrives: within 1 s at 50 ms, within one and a half
// round trips and 0.2 s where the slow link has 500 ms. Once there, RTTs are
// those of short queues. For the other policies -v shows the same.
func TestStarts(t *testing.T) {
	t.Parallel()
	const while = 500 * time.Millisecond // what arrives is counted over
	for _, q := range queueKinds {
		for _, slowMS := range []float64{50, 500} {
			paths := []path{{1024, 50, 0}, {128, slowMS, 0}}
			limit := time.Second
			if slowMS == 500 {
				limit = 3*500*time.Millisecond + 200*time.Millisecond
			}
			for _, start := range [][]float64{nil, {4095, 1}, {1, 4095}} {
				for _, p := range policy.Names() {
					if p != "delivery-rate" && !testing.Verbose() {
						continue
					}
					run := transferOver(paths, q, p, 48<<20)
					run.Transfers[0].Sender.InitialWindows = start
					run.Until = 20 * time.Second
					samples := simulate(t, run).since(0)
					windows := settled(samples, 8, windowRatio(samples))
					delivered := settled(samples, 8, deliveredRatio(samples, while))
					fast := rttRatio(samples, 0, paths[0], 3*time.Second)
					slow := rttRatio(samples, 1, paths[1], 3*time.Second)
					t.Logf("%-24s slow link %3.0f ms, start %v, %s: windows settle in %s, delivery in %s; RTT %.2f and %.2f times the base",
						q.name, slowMS, start, p, show(windows), show(delivered), fast, slow)
					if p != "delivery-rate" {
						continue
					}
					if windows > limit || delivered > limit {
						t.Errorf("too slow, want %s", show(limit))
					}
					if fast > 1.5 || slow > 1.5 {
						t.Error("queues too long, want 1.5")
					}
				}
			}
		}
	}
}
