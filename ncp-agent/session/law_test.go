package session

import (
	"math"
	"testing"
	"time"
)

// twoLinks is the setting of the proposal's convergence figures: 1024 and 128
// packets per second, 50 ms one way, a queue of 2·pps·delay that blocks.
func twoLinks() []path {
	return []path{
		{pps: 1024, delay: 50 * time.Millisecond, queue: 102},
		{pps: 128, delay: 50 * time.Millisecond, queue: 13},
	}
}

func runTwoLinks(t *testing.T, policy string, initial []float64, until time.Duration, sample func(at time.Duration, windows [2]float64)) {
	t.Helper()
	cfg := Default("fast", "slow")
	cfg.Policy = policy
	cfg.InitialWindows = initial
	w := newWorld(t, 1, cfg, cfg, twoLinks(), twoLinks())
	x := &transfer{t: t, from: w.ends[0], to: w.ends[1], total: 1 << 30}
	w.app = func() { x.step(w.now) }
	next := time.Duration(0)
	var stats Stats
	w.onStep = func() {
		w.ends[0].ReadStats(&stats)
		if stats.State != Established || w.now-stats.EstablishedAt < next {
			return
		}
		next += 100 * time.Millisecond
		sample(w.now-stats.EstablishedAt, [2]float64{stats.Connections[0].WindowPackets, stats.Connections[1].WindowPackets})
	}
	w.run(until, func() bool { return false })
}

// The share of the fast connection's window nears 1024/1152 as e^(−t/τ),
// τ = W / 1152 per second = 3.56 s.
func TestNKP24FollowsTheLaw(t *testing.T) {
	const rate, limit, packets = 1024 + 128, 1024 / 1152., 4096.
	tau := packets / rate
	for _, start := range []struct {
		name    string
		initial []float64
		from    float64 // seconds
	}{
		{"equal", nil, 0},
		{"fast high", []float64{4095, 1}, 0},
	} {
		t.Run(start.name, func(t *testing.T) {
			share0 := 0.5
			if start.initial != nil {
				share0 = start.initial[0] / (start.initial[0] + start.initial[1])
			}
			worst := 0.0
			runTwoLinks(t, "nkp24", start.initial, 21*time.Second, func(at time.Duration, w [2]float64) {
				if at > 20*time.Second {
					return
				}
				law := limit + (share0-limit)*math.Exp(-at.Seconds()/tau)
				got := w[0] / (w[0] + w[1])
				worst = max(worst, math.Abs(got-law))
				if math.Abs(got-law) > 0.03 {
					t.Errorf("at %.1f s the share is %.3f, the law says %.3f", at.Seconds(), got, law)
				}
			})
			t.Logf("largest distance from the law %.4f", worst)
		})
	}
}

func TestPreviousEndsAtItsCaps(t *testing.T) {
	var last [2]float64
	runTwoLinks(t, "previous", nil, 10*time.Second, func(_ time.Duration, w [2]float64) { last = w })
	if last != [2]float64{256, 256} {
		t.Errorf("windows %v, want 256 and 256", last)
	}
}
