package policy

import (
	"math"
	"testing"
	"time"
)

const ms = time.Millisecond

// measuredPath is one that delivers 1000 packets per second over 80 ms, with a queue of so many seconds. From there its
// target is 13 ms: 4 ms, 4 packets, and a sixteenth of 80 ms; a round trip is 130 ms.
func measuredPath(m mode, queueing float64) *path {
	p := newPath(64, 100, upstreamAckInterval)
	p.mode = m
	p.rates.set(0, 1000)
	p.recent = 1000
	p.base.set(0, 0.08)
	p.SRTT, p.queueing = 0.08+queueing, queueing
	return p
}

// near fails unless two numbers are the same but for rounding.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9*max(1, math.Abs(want)) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// same fails unless two values are equal.
func same[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func TestTargetIsFourMillisecondsFourPacketsAndASixteenth(t *testing.T) {
	p := measuredPath(steady, 0)
	near(t, "target", p.target(), 0.013)
	p.rates.set(0, 100)
	p.base.set(0, 0.16)
	near(t, "target", p.target(), 0.004+0.04+0.01)
}

func TestStartEnds(t *testing.T) {
	for name, c := range map[string]struct {
		change func(p *path, b *batch)
		want   mode
	}{
		"as sent, without queue or loss": {func(*path, *batch) {}, starting},
		"a queue of target and an eighth": {func(p *path, _ *batch) {
			p.queueing = p.target() + p.base.value()/8
		}, starting},
		"a longer queue":           {func(p *path, _ *batch) { p.queueing = 0.0231 }, steady},
		"half as many lost":        {func(p *path, _ *batch) { p.lost = 70 }, starting},
		"more lost":                {func(p *path, _ *batch) { p.lost = 71 }, steady},
		"arrived at 0.92 the rate": {func(_ *path, b *batch) { b.newest -= 8 * ms }, starting},
		"arrived slower":           {func(_ *path, b *batch) { b.newest -= 9 * ms }, steady},
		"at first, as the train": {func(p *path, b *batch) {
			p.rounds, p.train, b.mark.FirstSent = 1, train{at: 1000 * ms, sent: 920 * ms}, 1000*ms
		}, starting},
		"at first, sent faster than the train": {func(p *path, _ *batch) {
			p.rounds, p.train = 1, train{at: 1000 * ms, sent: 929 * ms}
		}, steady},
		"at first, arrived slower than the train": {func(p *path, _ *batch) {
			p.rounds, p.train = 1, train{at: 991 * ms, sent: 920 * ms}
		}, steady},
		"not the start": {func(p *path, b *batch) {
			p.mode, b.newest = draining, 0
		}, draining},
		"no rate yet": {func(p *path, b *batch) {
			p.rates, b.newest = minmax{}, 0
		}, starting},
	} {
		t.Run(name, func(t *testing.T) {
			p := measuredPath(starting, 0)
			p.rounds = 2
			p.lost, p.roundLost, p.delivered, p.roundAcked = 20, 20, 300, 200
			p.train = train{at: 500 * ms, sent: 500 * ms}
			b := batch{at: 1100 * ms, newest: 1020 * ms, mark: Mark{DeliveredAt: 1000 * ms, FirstSent: 920 * ms}}
			c.change(p, &b)
			p.leaveStart(b)
			same(t, "mode", p.mode, c.want)
		})
	}
}

func TestStartEndsAfterTwoRoundTripsWithoutGrowth(t *testing.T) {
	p := measuredPath(starting, 0)
	p.stalled = 1
	p.grown = 800
	p.adjust(0) // 1000 is 1.25 times 800
	if p.grown != 1000 || p.stalled != 0 || p.mode != starting {
		t.Fatalf("grown to %v, stalled for %d, mode %v", p.grown, p.stalled, p.mode)
	}
	p.rates.set(0, 1249)
	p.adjust(0)
	if p.grown != 1000 || p.stalled != 1 || p.mode != starting {
		t.Fatalf("grown to %v, stalled for %d, mode %v after a round trip without growth", p.grown, p.stalled, p.mode)
	}
	p.adjust(0)
	same(t, "mode", p.mode, steady)
}

func TestAdjustTakesTurns(t *testing.T) {
	p := measuredPath(draining, 0)
	p.adjust(0)
	same(t, "mode after draining", p.mode, settling)
	p.adjust(time.Second)
	same(t, "mode after settling", p.mode, steady)
	same(t, "end of the drain", p.drainedAt, time.Second)

	p = measuredPath(draining, 0)
	p.rates = minmax{}
	p.adjust(0)
	same(t, "mode without a rate", p.mode, draining)

	p = measuredPath(draining, 0)
	p.lossRatio = 0.2
	p.adjust(0)
	same(t, "mode with a fifth lost", p.mode, yielding)
	p.adjust(0)
	same(t, "round trips of yielding", p.yield.rounds, 1)

	p = measuredPath(competing, 0)
	p.window.Start(0, 100)
	p.adjust(0)
	same(t, "round trips without a queue", p.empty, 1)
}

func TestSteadyCountsRoundTrips(t *testing.T) {
	for _, c := range []struct {
		targets       float64 // the queue in targets
		calm, crowded int     // after 5 and 1
	}{
		{0, 6, 0}, {0.5, 6, 0}, {0.51, 0, 0}, {1.99, 0, 0}, {2, 0, 2}, {3, 0, 2},
	} {
		p := measuredPath(steady, 0)
		p.queueing = c.targets * p.target()
		p.calm, p.crowded = 5, 1
		p.adjust(0)
		if p.calm != c.calm || p.crowded != c.crowded || p.mode != steady {
			t.Errorf("a queue of %v targets: calm for %d, crowded for %d, mode %v", c.targets, p.calm, p.crowded, p.mode)
		}
	}
}

func TestSteadyEnds(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*path)
		now    time.Duration
		want   mode
	}{
		"after 5 s":                {func(p *path) { p.base.set(0, 0.04) }, 5 * time.Second, steady},
		"after more":               {func(p *path) { p.base.set(0, 0.04) }, 5*time.Second + 1, draining},
		"after 40 round trips":     {func(*path) {}, 5199 * ms, steady},
		"after more round trips":   {func(*path) {}, 5201 * ms, draining},
		"5 s after the last drain": {func(p *path) { p.base.set(0, 0.04); p.drainedAt = time.Second }, 6 * time.Second, steady},
		"crowded for 8":            {func(p *path) { p.queueing, p.crowded = 0.1, 7 }, 0, steady},
		"crowded for 9":            {func(p *path) { p.queueing, p.crowded = 0.1, 8 }, 0, draining},
		"losses 4 round trips after a drain": {func(p *path) {
			p.roundRatio, p.drainedIn, p.rounds = 0.05, 10, 14
		}, 0, steady},
		"losses 5 round trips after a drain": {func(p *path) {
			p.roundRatio, p.drainedIn, p.rounds = 0.05, 10, 15
		}, 0, draining},
		"few losses": {func(p *path) {
			p.roundRatio, p.drainedIn, p.rounds = 0.02, 10, 15
		}, 0, steady},
		"crowded for 3, then a loss": {func(p *path) {
			p.queueing, p.crowded, p.ownLoss, p.roundRatio = 0.1, 2, 0.01, 0.031
		}, 0, competing},
		"crowded for 2, then a loss": {func(p *path) {
			p.queueing, p.crowded, p.ownLoss, p.roundRatio = 0.1, 1, 0.01, 0.031
		}, 0, steady},
		"crowded, with three times its own loss": {func(p *path) {
			p.queueing, p.crowded, p.ownLoss, p.roundRatio = 0.1, 2, 0.01, 0.03
		}, 0, steady},
	} {
		t.Run(name, func(t *testing.T) {
			p := measuredPath(steady, 0)
			c.change(p)
			p.adjust(c.now)
			same(t, "mode", p.mode, c.want)
		})
	}
}

func TestCompetingBeginsWithWhatThePathHolds(t *testing.T) {
	p := measuredPath(steady, 0.1)
	p.crowded, p.roundRatio, p.empty, p.recent = 2, 0.1, 5, 900
	p.adjust(time.Second)
	same(t, "mode", p.mode, competing)
	same(t, "round trips without a queue", p.empty, 0)
	near(t, "rate before", p.undrained, 900)
	near(t, "window", p.window.Packets, 900*0.18)
}

func TestDrainSendsLess(t *testing.T) {
	for name, c := range map[string]struct {
		queueing, roundRatio float64
		pace, cause          float64
	}{
		"no queue":                      {0, 0, 722.5, 0},
		"a queue as long as its target": {0.013, 0, 680, 0},
		"a longer one":                  {0.026, 0, 595, 0},
		"a long one":                    {0.1, 0, 425, 0},
		"a queue and its own loss":      {0.026, 0.04, 595, 0},
		"a queue and more loss":         {0.026, 0.05, 425, 0.05},
		"a short queue and more loss":   {0.0129, 0.05, 680.65384615384, 0.05},
		"no queue and more loss":        {0, 0.05, 722.5, 0.05},
	} {
		t.Run(name, func(t *testing.T) {
			p := measuredPath(steady, c.queueing)
			p.recent, p.ownLoss, p.roundRatio = 850, 0.01, c.roundRatio
			p.crowded, p.cause, p.shortest = 4, 0.3, 1
			p.drain()
			same(t, "mode", p.mode, draining)
			near(t, "pace", p.drainPace, c.pace)
			near(t, "rate before", p.undrained, 850)
			near(t, "cause", p.cause, c.cause)
			near(t, "shortest queue", p.shortest, c.queueing)
			same(t, "round trips with a queue", p.crowded, 0)
		})
	}
	p := measuredPath(steady, 0)
	p.queueing = p.target()
	p.roundRatio = 0.05
	p.drain()
	near(t, "pace with a queue of just its target", p.drainPace, 800)
}

func TestDrainEnds(t *testing.T) {
	ends := func(shortest, cause, roundRatio float64, failed int) *path {
		p := measuredPath(settling, shortest)
		p.shortest, p.cause, p.roundRatio, p.failed = shortest, cause, roundRatio, failed
		p.rounds, p.empty, p.undrained, p.ownLoss = 7, 3, 950, 0.04
		p.adjust(2 * time.Second)
		same(t, "time of the drain", p.drainedAt, 2*time.Second)
		same(t, "round trip of the drain", p.drainedIn, 7)
		return p
	}
	p := ends(0.0229, 0, 0.08, 1)
	if p.mode != steady || p.failed != 0 {
		t.Errorf("without a queue: mode %v, failed %d", p.mode, p.failed)
	}
	near(t, "the path's own loss", p.ownLoss, 0.05)
	near(t, "rate", p.rates.value(), 1000)

	exact := measuredPath(steady, 0)
	p = ends(exact.target()+exact.base.value()/8, 0, 0.08, 0)
	if p.mode != steady || p.failed != 1 {
		t.Errorf("with a queue: mode %v, failed %d", p.mode, p.failed)
	}
	near(t, "the path's own loss", p.ownLoss, 0.04)

	p = ends(0.1, 0, 0.08, 1)
	if p.mode != competing || p.failed != 2 || p.empty != 0 {
		t.Errorf("with a queue, again: mode %v, failed %d, empty %d", p.mode, p.failed, p.empty)
	}
	near(t, "window", p.window.Packets, 950*0.18)

	p = ends(0, 0.2, 0.09, 0) // losses that went away
	near(t, "rate", p.rates.value(), 850)
	same(t, "round trips of calm", p.calm, -8)
	near(t, "the path's own loss", p.ownLoss, 0.0525)
	p = ends(0, 0.2, 0.1, 0) // losses that did not
	near(t, "rate", p.rates.value(), 1000)
	same(t, "round trips of calm", p.calm, 0)
	near(t, "the path's own loss", p.ownLoss, 0.12)
}

func TestOwnLossIsLearnt(t *testing.T) {
	for _, c := range []struct{ own, cause, ratio, want float64 }{
		{0.02, 0, 0.06, 0.03},    // a quarter of the way
		{0.06, 0, 0.02, 0.05},    //
		{0.10, 0, 0.90, 0.12},    // at most
		{0.20, 0, 0.90, 0.20},    // unless it is more already
		{0.01, 0.10, 0.06, 0.08}, // the mean of before and after
		{0.01, 0.40, 0.30, 0.12}, //
		{0.20, 0.50, 0.40, 0.20}, //
		{0.04, 0.10, 0.04, 0.04}, // it went away: a queue's
	} {
		p := measuredPath(steady, 0)
		p.ownLoss, p.cause, p.roundRatio = c.own, c.cause, c.ratio
		p.learnLoss()
		near(t, "own loss", p.ownLoss, c.want)
	}
}

func TestCompeting(t *testing.T) {
	compete := func(change func(*path), now time.Duration) *path {
		p := measuredPath(competing, 0.08)
		p.window.Start(0, 100)
		p.ownLoss, p.drainedAt, p.undrained, p.empty = 0.01, time.Second, 900, 2
		change(p)
		p.adjust(now)
		return p
	}
	p := compete(func(p *path) { p.roundRatio = 0.025 }, 3*time.Second) // twice its own and half a packet
	near(t, "window", p.window.Packets, 100+0.4*3.16*3.16*3.16)
	same(t, "round trips without a queue", p.empty, 0)
	p = compete(func(p *path) { p.roundRatio = 0.0251 }, 3*time.Second)
	near(t, "window", p.window.Packets, 70)
	same(t, "mode", p.mode, competing)

	p = compete(func(*path) {}, 16*time.Second)
	same(t, "mode after 15 s", p.mode, competing)
	p = compete(func(*path) {}, 16*time.Second+1)
	same(t, "mode after more", p.mode, draining)

	p = compete(func(p *path) { p.queueing, p.empty = p.target(), 1 }, 0)
	same(t, "round trips without a queue", p.empty, 2)
	same(t, "mode", p.mode, competing)
	p = compete(func(p *path) { p.queueing = p.target() }, 0)
	same(t, "mode without a queue", p.mode, steady)
	near(t, "rate", p.rates.value(), 1000)
	p = compete(func(p *path) { p.queueing, p.undrained = 0, 2000 }, 0)
	near(t, "rate", p.rates.value(), 1700)
}

func TestPace(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*path)
		want   float64
	}{
		"starting":                              {func(p *path) { p.mode = starting }, 2000},
		"starting, with loss":                   {func(p *path) { p.mode, p.ownLoss, p.queueing = starting, 0.2, 0.0129 }, 2500},
		"starting, with loss and a queue":       {func(p *path) { p.mode, p.ownLoss = starting, 0.2 }, 2000},
		"starting, with much loss":              {func(p *path) { p.mode, p.ownLoss, p.queueing = starting, 0.9, 0 }, 4000},
		"competing":                             {func(p *path) { p.mode = competing; p.window.Start(0, 200); p.SRTT = 0.2 }, 1250},
		"draining":                              {func(p *path) { p.mode = draining }, 700},
		"yielding":                              {func(p *path) { p.mode = yielding }, 700},
		"hardly anything":                       {func(p *path) { p.mode, p.drainPace = draining, 0.25 }, 1},
		"steady":                                {func(*path) {}, 1000},
		"steady, with a queue":                  {func(p *path) { p.queueing = 0.026 }, 1000}, // of which nothing is in flight
		"settling":                              {func(p *path) { p.mode = settling }, 1000},
		"steady, calm":                          {func(p *path) { p.calm = 2 }, 1000 + 1/0.13},
		"steady, calm for a round trip":         {func(p *path) { p.calm = 1 }, 1000},
		"steady, calm, with much loss":          {func(p *path) { p.calm, p.lossRatio = 2, 0.15 }, 1000},
		"steady, calm, with not so much loss":   {func(p *path) { p.calm, p.lossRatio = 2, 0.149 }, 1000 + 1/0.13},
		"steady, with a queue of half a target": {func(p *path) { p.queueing = 0.0065 }, 1025},
		"steady, without a queue":               {func(p *path) { p.queueing = 0 }, 1050},
	} {
		t.Run(name, func(t *testing.T) {
			p := measuredPath(steady, 0)
			p.queueing = p.target()
			p.drainPace, p.shortest, p.most = 700, 0.02, 99
			c.change(p)
			p.setPace(80) // as many as the path holds without a queue
			near(t, "pace", p.pace, c.want)
			near(t, "shortest queue", p.shortest, min(0.02, p.queueing))
			same(t, "cap worked out", p.most, 0)
		})
	}
}

func TestGainCorrectsTheQueueInTwoRoundTrips(t *testing.T) {
	for _, c := range []struct {
		target, queueing, inFlight float64 // seconds
		calm                       int
		lossRatio                  float64
		want                       float64
	}{
		{0.013, 0, 0.08, -8, 0, 1.05},
		{0.013, 0, 0.08, 0, 0, 1.05},
		{0.013, 0, 0.08, 1, 0, 1.05},
		{0.013, 0, 0.08, 2, 0, 1.15},
		{0.013, 0, 0.08, 3, 0, 1.25},
		{0.013, 0, 0.08, 4, 0, 1.35},
		{0.013, 0, 0.08, 9, 0, 1.5},
		{0.13, 0, 0.08, 2, 0, 1.25},
		{0.13, 0, 0.08, 3, 0, 1.5},
		{0.13, 0, 0.08, 0, 0, 1.25},
		{0.13, 0, 0.08, 0, 0.15, 1.25},
		{0.13, 0, 0.08, 0, 0.151, 1},
		{0.013, 0.026, 0.106, 2, 0, 0.95},
		{0.013, 0.026, 0.106, 2, 0.2, 0.95},
		{0.013, 0.2, 0.28, 0, 0, 0.75},
		{0.013, 0.013, 0.08, 5, 0, 1}, // calm, but nothing is wanting
	} {
		p := measuredPath(steady, c.queueing)
		p.calm, p.lossRatio = c.calm, c.lossRatio
		near(t, "gain", p.gain(c.target, c.inFlight), c.want)
	}
}

// Both measures must agree which way the queue is wrong; the one that finds less wrong is followed.
func TestShortfall(t *testing.T) {
	for _, c := range []struct{ queueing, inFlight, want float64 }{
		{0.003, 0.089, 0.004},  // 10 ms by the RTT, 4 ms by what is in flight
		{0.009, 0.083, 0.004},  // the other way round
		{0.033, 0.103, -0.010}, // 20 ms too much, 10 ms
		{0.023, 0.113, -0.010}, //
		{0.003, 0.103, 0},      // they disagree
		{0.033, 0.083, 0},      //
		{0.013, 0.083, 0},      // just right by one
	} {
		p := measuredPath(steady, c.queueing)
		near(t, "shortfall", p.shortfall(0.013, c.inFlight), c.want)
	}
}

func TestInFlightIsBounded(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*path)
		want   int
	}{
		"steady":       {func(*path) {}, 208}, // 1003 × (1.25 × 80 ms + 2 × 50 ms) + 8
		"starting":     {func(p *path) { p.mode = starting }, 268},
		"competing":    {func(p *path) { p.mode = competing; p.window.Start(0, 77.7) }, 77},
		"silent":       {func(p *path) { p.silent = 1 }, 1},
		"not measured": {func(p *path) { p.rates = minmax{} }, 100},
	} {
		t.Run(name, func(t *testing.T) {
			p := measuredPath(steady, 0)
			p.pace = 1003
			c.change(p)
			same(t, "bound", p.cap(), c.want)
			p.pace = 1
			same(t, "bound, asked again", p.cap(), c.want)
		})
	}
}
