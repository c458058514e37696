package policy

import (
	"testing"
	"time"

	"ncp-testbed/internal/timing"
)

func TestPacketsLeaveAtThePace(t *testing.T) {
	for name, c := range map[string]struct {
		pace     float64
		nextAt   time.Duration
		inFlight int
		silent   int
		want     time.Duration
	}{
		"later":                     {2000, 102 * ms, 10, 0, 102 * ms},
		"a millisecond later":       {2000, 101 * ms, 10, 0, 101 * ms},
		"in less than that":         {2000, 101*ms - 1, 10, 0, 100 * ms},
		"in less, but slow":         {1000, 101*ms - 1, 10, 0, 101*ms - 1},
		"before":                    {2000, 90 * ms, 10, 0, 90 * ms},
		"before, and slow":          {500, 90 * ms, 10, 0, 90 * ms},
		"as many as may be":         {2000, 90 * ms, 408, 0, timing.Never},
		"one fewer":                 {2000, 90 * ms, 407, 0, 90 * ms},
		"silent, nothing in flight": {500, 110 * ms, 0, 1, 100 * ms},
		"silent, one in flight":     {500, 110 * ms, 1, 1, timing.Never},
	} {
		t.Run(name, func(t *testing.T) {
			p := measuredPath(steady, 0)
			p.pace, p.nextAt, p.silent = c.pace, c.nextAt, c.silent
			same(t, "time", p.sendAt(100*ms, c.inFlight), c.want)
		})
	}
}

func TestPaceIsSetOncePerNews(t *testing.T) {
	p := measuredPath(draining, 0)
	p.news, p.drainPace = true, 300
	p.sendAt(0, 10)
	p.drainPace = 400
	p.sendAt(0, 10)
	near(t, "pace", p.pace, 300)
}

func TestSendingIsMarked(t *testing.T) {
	p := measuredPath(steady, 0)
	p.pace, p.nextAt = 100, 195*ms
	p.delivered, p.deliveredAt, p.firstSent = 50, 150*ms, 120*ms
	p.train = train{at: ms}
	mark := p.sent(200*ms, 2, false)
	same(t, "mark", mark, Mark{Delivered: 50, DeliveredAt: 150 * ms, FirstSent: 120 * ms})
	same(t, "next packet", p.nextAt, 205*ms)
	same(t, "train", p.train, train{at: ms})

	p.nextAt = 100 * ms // it may catch up with 10 ms only
	mark = p.sent(200*ms, 3, true)
	same(t, "next packet", p.nextAt, 200*ms)
	same(t, "mark for want of data", mark.Limited, true)
	p.delivered = 52
	same(t, "mark, before all of those are delivered", p.sent(200*ms, 4, false).Limited, true)
	p.delivered = 53
	same(t, "mark, when they are", p.sent(200*ms, 4, false).Limited, false)

	mark = p.sent(300*ms, 1, false) // after a rest
	same(t, "mark", mark, Mark{Delivered: 53, DeliveredAt: 300 * ms, FirstSent: 300 * ms})
	same(t, "train", p.train, train{})
}

func TestRTO(t *testing.T) {
	for _, c := range []struct {
		srtt, rttvar float64
		silent       int
		want         time.Duration
	}{
		{0, 0, 0, 1500 * ms},       // nothing is known
		{0, 0, 5, 1500 * ms},       //
		{0.1, 0.02, 0, 230 * ms},   // 100 + 4 × 20, and 50 for an acknowledgement
		{0.01, 0.005, 0, 150 * ms}, // at least
		{0.1, 0.02, 2, 517500 * time.Microsecond},
		{0.1, 0.02, 9, 1000 * ms},
		{0.1, 0.02, 3000, 1000 * ms},
		{1.5, 0.1, 0, 1950 * ms},
		{1.5, 0.1, 3, 1950 * ms},
	} {
		p := newPath(16, 16, upstreamAckInterval)
		p.SRTT, p.RTTVAR, p.silent = c.srtt, c.rttvar, c.silent
		near(t, "RTO in s", p.rto().Seconds(), c.want.Seconds())
	}
}

func TestSilence(t *testing.T) {
	p := measuredPath(steady, 0)
	p.most = 9
	p.onTimeout()
	p.rates.set(0, 10)
	p.onTimeout()
	if p.silent != 2 || p.before != 1000 || p.most != 0 || p.usable() != 0 {
		t.Errorf("silent %d, before %v, cap %d, usable %v", p.silent, p.before, p.most, p.usable())
	}
	p.most = 9
	p.wake(time.Second)
	if p.silent != 0 || p.most != 0 || !p.news || p.usable() != 1000 {
		t.Errorf("awake: silent %d, cap %d, news %v, usable %v", p.silent, p.most, p.news, p.usable())
	}
	p.rates.set(0, 1500) // it was not silent since
	p.news = false
	p.wake(time.Second)
	if p.news || p.usable() != 1500 {
		t.Errorf("awake all the time: news %v, usable %v", p.news, p.usable())
	}
	p = newPath(16, 16, upstreamAckInterval) // silent before it was measured
	p.onTimeout()
	p.wake(time.Second)
	if p.news || p.measured() {
		t.Errorf("never measured: news %v, measured %v", p.news, p.measured())
	}
}

func TestReorderingIsLearnt(t *testing.T) {
	for name, c := range map[string]struct {
		known, after, want time.Duration
	}{
		"20 ms late":                 {0, 100 * ms, 20 * ms},
		"less late than before":      {30 * ms, 100 * ms, 30 * ms},
		"later than an RTT":          {0, 170 * ms, 80 * ms},
		"as late as a timeout":       {0, 190 * ms, 0},
		"not late, of a shorter RTT": {90 * ms, 80 * ms, 90 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			p := measuredPath(steady, 0)
			p.RTTVAR = 0.015 // an RTO of 190 ms
			p.reorder, p.silent = c.known, 1
			p.onSpuriousLoss(time.Second, c.after)
			same(t, "reordering", p.reorder, c.want)
			same(t, "timeouts in a row", p.silent, 0)
		})
	}
}
