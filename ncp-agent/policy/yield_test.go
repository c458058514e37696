package policy

import (
	"testing"
	"time"
)

func TestYieldingIsDue(t *testing.T) {
	for name, c := range map[string]struct {
		mode               mode
		lossRatio, ownLoss float64
		now                time.Duration // the last one was at 1 s
		confirmed          int
		want               bool
	}{
		"much lost":                        {steady, 0.15, 0, 2 * time.Second, 0, true},
		"less lost":                        {steady, 0.149, 0, time.Hour, 0, false},
		"while draining":                   {draining, 0.2, 0, 2 * time.Second, 0, true},
		"while starting":                   {starting, 0.2, 0, time.Hour, 0, false},
		"while yielding":                   {yielding, 0.2, 0, time.Hour, 0, false},
		"half as much again as its own":    {steady, 0.375, 0.25, 2 * time.Second, 0, false},
		"more":                             {steady, 0.376, 0.25, 2 * time.Second, 0, true},
		"its own, after 5 s":               {steady, 0.2, 0.2, 6 * time.Second, 0, false},
		"its own, after more":              {steady, 0.2, 0.2, 6*time.Second + 1, 0, true},
		"confirmed, after 5 s":             {steady, 0.2, 0.2, 6*time.Second + 1, 1, false},
		"confirmed, after 10 s":            {steady, 0.2, 0.2, 11*time.Second + 1, 1, true},
		"confirmed three times, 40 s":      {steady, 0.2, 0.2, 41 * time.Second, 3, false},
		"confirmed three times, more":      {steady, 0.2, 0.2, 41*time.Second + 1, 3, true},
		"confirmed nine times, after 40 s": {steady, 0.2, 0.2, 41*time.Second + 1, 9, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := measuredPath(c.mode, 0)
			p.lossRatio, p.ownLoss, p.yield.at, p.yield.confirmed = c.lossRatio, c.ownLoss, time.Second, c.confirmed
			same(t, "due", p.yieldDue(c.now), c.want)
		})
	}
}

func TestYieldingHalvesTheRate(t *testing.T) {
	p := measuredPath(steady, 0)
	p.recent, p.lossRatio, p.yield.rounds = 900, 0.3, 5
	p.beginYield()
	same(t, "mode", p.mode, yielding)
	near(t, "cause", p.cause, 0.3)
	near(t, "rate before", p.undrained, 900)
	near(t, "pace", p.drainPace, 450)
	near(t, "largest rate before", p.yield.rate, 1000)
	same(t, "round trips", p.yield.rounds, 0)
}

// yielded goes through so many round trips of yielding, in each of which 10 of 32 packets are lost from the third on.
func yielded(rounds int, change func(*path)) *path {
	p := measuredPath(yielding, 0)
	p.cause, p.ownLoss, p.yield.rate = 0.15, 0.01, 1200
	p.crowded, p.failed, p.calm, p.rounds = 1, 1, 1, 33
	p.delivered, p.lost = 1000, 400
	change(p)
	for i := range rounds {
		if i < 2 {
			p.lost += 50
			p.delivered += 50
		} else {
			p.lost += 10
			p.delivered += 22
		}
		p.endYield(time.Second)
	}
	return p
}

func TestYieldingEnds(t *testing.T) {
	same(t, "mode after 7 round trips", yielded(7, func(*path) {}).mode, yielding)
	failed := func(n int) func(*path) { return func(p *path) { p.yield.failed = n } }
	same(t, "mode after 15, failed once", yielded(15, failed(1)).mode, yielding)
	same(t, "mode after 16, failed once", yielded(16, failed(1)).mode, steady)
	same(t, "mode after 31, failed often", yielded(31, failed(9)).mode, yielding)
	same(t, "mode after 32, failed often", yielded(32, failed(9)).mode, steady)

	p := yielded(8, func(*path) {}) // another share is lost than before
	same(t, "mode", p.mode, steady)
	near(t, "share lost", p.roundRatio, 0.3125)
	near(t, "share lost, smoothed", p.lossRatio, 0.3125)
	near(t, "own loss", p.ownLoss, 0.3125)
	near(t, "rate", p.rates.value(), 0.85*1200)
	same(t, "failed in a row", p.yield.failed, 1)
	same(t, "confirmed in a row", p.yield.confirmed, 0)
	if p.drainedAt != time.Second || p.yield.at != time.Second || p.drainedIn != 33 || p.crowded+p.failed+p.calm != 0 {
		t.Errorf("after yielding: %+v", p.control)
	}
}

func TestYieldingTellsWhoseTheLossIs(t *testing.T) {
	for name, c := range map[string]struct {
		cause, ownLoss     float64
		wantLoss, wantRate float64
		failed, confirmed  int
	}{
		"less than half: a queue's":             {0.626, 0.4, 0.3125, 1000, 0, 0},
		"less than half, and little of its own": {0.626, 0.05, 0.05, 1000, 0, 0},
		"half":                                  {0.625, 0.01, 0.3125, 1020, 3, 0},
		"as before":                             {0.4, 0.35, 0.3125, 1200, 0, 4},
		"nearly as before, from below":          {0.4, 0.2501, 0.3125, 1200, 0, 4},
		"more by a quarter":                     {0.4, 0.25, 0.3125, 1020, 3, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := yielded(24, func(p *path) {
				p.cause, p.ownLoss, p.yield.failed, p.yield.confirmed = c.cause, c.ownLoss, 2, 3
			})
			same(t, "mode", p.mode, steady)
			near(t, "own loss", p.ownLoss, c.wantLoss)
			near(t, "rate", p.rates.value(), c.wantRate)
			same(t, "failed in a row", p.yield.failed, c.failed)
			same(t, "confirmed in a row", p.yield.confirmed, c.confirmed)
		})
	}
}

func TestYieldingWithoutAnyAnswer(t *testing.T) {
	p := measuredPath(yielding, 0)
	p.cause = 0.2
	for range 8 {
		p.endYield(0)
	}
	near(t, "share lost of nothing", p.lossRatio, 0)
}
