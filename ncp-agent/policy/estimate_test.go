package policy

import (
	"testing"
	"time"
)

func TestBatchIsWhatOneAcknowledgementTells(t *testing.T) {
	p := newPath(16, 16, upstreamAckInterval)
	p.batch.at = 400 * ms
	if p.acked(Ack{At: 500 * ms}) || p.delivered != 0 {
		t.Errorf("another connection's acknowledgement counts: %d delivered", p.delivered)
	}
	if p.acked(Ack{At: 500 * ms, Implied: true}) || p.delivered != 1 || p.batch.open {
		t.Errorf("what arrived without acknowledgement: %d delivered, batch %+v", p.delivered, p.batch)
	}
	p.base.set(0, 0.08)
	first := Ack{Own: true, At: 500 * ms, SentAt: 380 * ms, RTT: 120 * ms, Mark: Mark{Delivered: 1}}
	if !p.acked(first) || p.quiet != 100*ms {
		t.Errorf("the first acknowledgement opens no batch, or not after 100 ms: %v", p.quiet)
	}
	for _, more := range []Ack{
		{SentAt: 370 * ms, RTT: 130 * ms, Mark: Mark{Delivered: 2}},
		{SentAt: 410 * ms, RTT: 90 * ms, Mark: Mark{Delivered: 3}},
		{SentAt: 410 * ms, RTT: 90 * ms, Mark: Mark{Delivered: 4}}, // as new: the later one counts
		{SentAt: 400 * ms, RTT: 100 * ms, Mark: Mark{Delivered: 5}},
		{SentAt: 430 * ms, RTT: 70 * ms, Mark: Mark{Delivered: 6}, Ambiguous: true}, // faster than the path
	} {
		more.Own, more.At = true, 500*ms
		if p.acked(more) {
			t.Error("another acknowledgement opens the batch again")
		}
	}
	want := batch{open: true, measured: true, at: 500 * ms, minRTT: 90 * ms, maxRTT: 130 * ms, newest: 410 * ms, mark: Mark{Delivered: 4}}
	same(t, "batch", p.batch, want)
	same(t, "delivered", p.delivered, 7)
}

// What was sent again tells an RTT only where it can't be the earlier sending's.
func TestAmbiguousAcknowledgementsTellLittle(t *testing.T) {
	for _, c := range []struct {
		base float64
		rtt  time.Duration
		want bool
	}{
		{0, 100 * ms, false}, {0.1, 99 * ms, false}, {0.1, 100 * ms, true}, {0.1, 101 * ms, true},
	} {
		p := newPath(16, 16, upstreamAckInterval)
		if c.base > 0 {
			p.base.set(0, c.base)
		}
		p.acked(Ack{Own: true, Ambiguous: true, At: time.Second, SentAt: time.Second - c.rtt, RTT: c.rtt})
		same(t, "measured", p.batch.measured, c.want)
	}
}

func TestEndOfBatch(t *testing.T) {
	full := batch{open: true, measured: true, at: time.Second, minRTT: 80 * ms, maxRTT: 90 * ms, newest: 910 * ms, mark: Mark{Delivered: 60, DeliveredAt: 900 * ms, FirstSent: 800 * ms}}
	end := func(change func(*path)) *path {
		p := measuredPath(steady, 0)
		p.batch, p.delivered, p.roundEnds, p.silent = full, 100, 60, 1
		change(p)
		p.endBatch()
		if p.batch.open || p.silent != 0 {
			t.Errorf("after its end: batch open %v, silent %d", p.batch.open, p.silent)
		}
		return p
	}
	p := end(func(*path) {})
	same(t, "round trips", p.rounds, 1)
	same(t, "delivered at", p.deliveredAt, time.Second)
	same(t, "first sent", p.firstSent, 910*ms)
	same(t, "news", p.news, true)
	near(t, "srtt", p.SRTT, 0.08+0.01/8)

	p = end(func(p *path) { p.roundEnds = 61 })
	same(t, "round trips, while one lasts", p.rounds, 0)

	p = end(func(p *path) { p.batch.measured = false })
	same(t, "news of nothing", p.news, false)
	same(t, "delivered at", p.deliveredAt, 0)
	near(t, "srtt", p.SRTT, 0.08)

	p = end(func(p *path) { p.rates = minmax{} })
	same(t, "news while only a train is known", p.news, false)
	same(t, "delivered at", p.deliveredAt, time.Second)
}

func TestRTT(t *testing.T) {
	p := newPath(16, 16, upstreamAckInterval)
	p.takeRTT(batch{at: time.Second, minRTT: 100 * ms, maxRTT: 160 * ms})
	near(t, "base", p.base.value(), 0.1)
	near(t, "queue", p.queueing, 0)
	near(t, "srtt", p.SRTT, 0.16)
	near(t, "rttvar", p.RTTVAR, 0.08)
	same(t, "smallest RTT fell", p.drainedAt, time.Second)

	p.takeRTT(batch{at: 2 * time.Second, minRTT: 130 * ms, maxRTT: 200 * ms})
	near(t, "queue", p.queueing, 0.03)
	near(t, "rttvar", p.RTTVAR, 0.08+(0.04-0.08)/4)
	near(t, "srtt", p.SRTT, 0.16+0.04/8)
	same(t, "smallest RTT fell", p.drainedAt, time.Second)
	p.takeRTT(batch{at: 3 * time.Second, minRTT: 99 * ms, maxRTT: 125 * ms}) // a millisecond less is no fall
	near(t, "base", p.base.value(), 0.099)
	near(t, "rttvar", p.RTTVAR, 0.07+(0.04-0.07)/4)
	near(t, "srtt", p.SRTT, 0.165-0.04/8)
	same(t, "smallest RTT fell", p.drainedAt, time.Second)
	p.takeRTT(batch{at: 4 * time.Second, minRTT: 97 * ms, maxRTT: 97 * ms})
	same(t, "smallest RTT fell", p.drainedAt, 4*time.Second)

	p.takeRTT(batch{at: 14 * time.Second, minRTT: 120 * ms, maxRTT: 120 * ms})
	near(t, "base after 10 s", p.base.value(), 0.097)
	p.takeRTT(batch{at: 14*time.Second + ms, minRTT: 120 * ms, maxRTT: 120 * ms})
	near(t, "base after more", p.base.value(), 0.12)
}

func TestRateIsMeasuredOverARoundTrip(t *testing.T) {
	mark := Mark{Delivered: 100, DeliveredAt: 900 * ms, FirstSent: 700 * ms}
	for name, c := range map[string]struct {
		change       func(*path, *batch)
		recent, rate float64
	}{
		"over the time of arrival":       {func(*path, *batch) {}, 2000, 2000}, // 201 less 1, in 100 ms
		"over the time of sending":       {func(_ *path, b *batch) { b.newest = 950 * ms }, 800, 1000},
		"two packets":                    {func(p *path, _ *batch) { p.delivered = 102 }, 10, 1000},
		"one packet":                     {func(p *path, _ *batch) { p.delivered = 101 }, 1000, 1000},
		"in no time":                     {func(_ *path, b *batch) { b.at, b.newest = 900*ms, 700*ms }, 1000, 1000},
		"more, for want of data":         {func(_ *path, b *batch) { b.mark.Limited = true }, 2000, 2000},
		"less, for want of data":         {func(p *path, b *batch) { b.mark.Limited, p.delivered = true, 150 }, 490, 1000},
		"less, for want of data, at 5 s": {func(p *path, b *batch) { b.mark.Limited, p.delivered = true, 150; p.rates.set(0, 2500) }, 490, 2500},
	} {
		t.Run(name, func(t *testing.T) {
			p := measuredPath(steady, 0)
			p.train = train{at: 500 * ms}
			p.rates.set(800*ms, 1000)
			p.delivered = 301
			b := batch{at: 1000 * ms, newest: 790 * ms, mark: mark}
			c.change(p, &b)
			p.takeRate(b)
			near(t, "last rate", p.recent, c.recent)
			near(t, "rate", p.rates.value(), c.rate)
		})
	}
}

// For want of data a path shows at least the rate it had: then that is remembered anew.
func TestRateIsConfirmedForWantOfData(t *testing.T) {
	p := measuredPath(steady, 0)
	p.train = train{at: ms}
	p.delivered = 201
	p.takeRate(batch{at: time.Second, newest: 800 * ms, mark: Mark{Delivered: 100, DeliveredAt: 900 * ms, FirstSent: 700 * ms, Limited: true}})
	same(t, "rate", p.rates.samples[0], timed{time.Second, 1000})
}

// The largest rate of the last four round trips counts, or of 400 ms if these are shorter.
func TestRateIsForgotten(t *testing.T) {
	for _, c := range []struct {
		base float64
		at   time.Duration
		want float64
	}{
		{0.08, 519 * ms, 1000}, {0.08, 521 * ms, 200}, {0.04, 400 * ms, 1000}, {0.04, 401 * ms, 200},
	} {
		p := measuredPath(steady, 0)
		p.base.set(0, c.base)
		p.train = train{at: ms}
		p.delivered = 21
		p.takeRate(batch{at: c.at, newest: c.at, mark: Mark{DeliveredAt: c.at - 100*ms, FirstSent: c.at - 100*ms}})
		near(t, "last rate", p.recent, 200)
		near(t, "rate", p.rates.value(), c.want)
	}
}

// At first the rate is measured from one batch to the next.
func TestRateOfATrain(t *testing.T) {
	second := func(delivered uint64, at, newest time.Duration) *path {
		p := newPath(16, 16, upstreamAckInterval)
		p.delivered = 10
		p.takeRate(batch{at: 200 * ms, newest: 100 * ms})
		same(t, "measured by one batch", p.measured(), false)
		same(t, "train", p.train, train{at: 200 * ms, sent: 100 * ms, delivered: 10})
		p.delivered = delivered
		p.takeRate(batch{at: at, newest: newest})
		same(t, "train", p.train, train{at: 200 * ms, sent: 100 * ms, delivered: 10})
		return p
	}
	near(t, "rate by arrival", second(60, 250*ms, 140*ms).rates.value(), 1000)
	near(t, "rate by sending", second(60, 250*ms, 200*ms).rates.value(), 500)
	near(t, "rate of one packet", second(11, 250*ms, 100*ms).rates.value(), 20)
	same(t, "measured by none", second(10, 250*ms, 100*ms).measured(), false)
	same(t, "measured in no time", second(60, 200*ms, 100*ms).measured(), false)

	p := measuredPath(steady, 0) // after a rest the rate is known, and no train is needed
	p.delivered = 61
	p.takeRate(batch{at: 250 * ms, newest: 150 * ms, mark: Mark{DeliveredAt: 200 * ms, FirstSent: 100 * ms}})
	near(t, "rate after a rest", p.rates.value(), 1200)
	same(t, "train", p.train, train{at: 250 * ms, sent: 150 * ms, delivered: 61})
}

func TestManyLostAfterSilenceAreALostAcknowledgement(t *testing.T) {
	for _, c := range []struct {
		rate    float64
		packets int
		quiet   time.Duration
		want    uint64
	}{
		{1000, 24, time.Second, 24}, // fewer than half of what 50 ms carry
		{1000, 25, time.Second, 0},  //
		{1000, 25, 75 * ms, 0},      // one and a half intervals
		{1000, 25, 75*ms - 1, 25},   //
		{10, 3, time.Second, 3},     // fewer than 4
		{10, 4, time.Second, 0},     //
	} {
		p := measuredPath(steady, 0)
		p.rates.set(0, c.rate)
		p.quiet = c.quiet
		p.lose(c.packets)
		same(t, "lost", p.lost, c.want)
		p.quiet = 0
		p.lose(2)
		same(t, "lost in all", p.lost, c.want+2)
	}
}

func TestRoundTripEnds(t *testing.T) {
	p := measuredPath(draining, 0)
	p.delivered, p.roundAcked, p.lost, p.roundLost, p.lossRatio = 300, 220, 50, 30, 0.04
	p.endRound(0)
	near(t, "share lost", p.roundRatio, 0.2) // 20 of 100
	near(t, "share lost, smoothed", p.lossRatio, 0.06)
	same(t, "round trips", p.rounds, 1)
	same(t, "next end", p.roundEnds, 301)
	same(t, "mode", p.mode, settling)
	p.endRound(0)
	near(t, "share lost of nothing", p.roundRatio, 0)
	near(t, "share lost, smoothed", p.lossRatio, 0.0525)
}
