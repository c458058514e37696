package policy

import (
	"testing"
	"time"

	"ncp-testbed/internal/timing"

	"pgregory.net/rapid"
)

func deliveryRates(t *testing.T, setup Setup) *deliveryRate {
	t.Helper()
	return start(t, "delivery-rate", setup).(*deliveryRate)
}

func TestDeliveryRateStart(t *testing.T) {
	for _, c := range []struct {
		setup  Setup
		window float64 // as reported
		most   int     // in flight
	}{
		{Setup{Connections: 4, SessionWindowPackets: 400}, 100, 100},
		{Setup{Connections: 4, SessionWindowPackets: 4096}, 1024, 160},
		{Setup{Connections: 4, SessionWindowPackets: 20}, 5, 16},
		{Setup{Connections: 4, SessionWindowPackets: 2}, 1, 16},
		{Setup{Connections: 2, SessionWindowPackets: 4096, Initial: []float64{7, 9}}, 7, 160},
	} {
		p := deliveryRates(t, c.setup)
		same(t, "window", p.Window(0), c.window)
		same(t, "packets at first", p.SendAt(0, 0, c.most-1), 0)
		same(t, "packets at first, and one more", p.SendAt(0, 0, c.most), timing.Never)
		same(t, "rate at first", p.paths[0].pace, 1280)
	}
}

func TestDeliveryRateSharesW(t *testing.T) {
	p := deliveryRates(t, Setup{Connections: 4, SessionWindowPackets: 4000, Initial: []float64{4, 5, 6, 7}})
	p.paths[0].rates.set(0, 1000)
	p.paths[1].rates.set(0, 3000)
	want := []float64{500, 1500, 1000, 1000} // what is not known counts as the mean
	for c, w := range want {
		near(t, "window", p.Window(c), w)
	}
	p.OnTimeout(0, 0)
	for c, w := range []float64{1, 3000 * 4000 / 6000., 1000, 1000} { // the mean of 0 and 3000 twice
		near(t, "window with a silent connection", p.Window(c), w)
	}
	p.OnTimeout(1, 0)
	for c, w := range []float64{4, 5, 6, 7} {
		near(t, "window with nothing known", p.Window(c), w)
	}
}

func TestDeliveryRateHandsOn(t *testing.T) {
	p := deliveryRates(t, Setup{Connections: 2, SessionWindowPackets: 400})
	q := p.paths[1]
	p.Acked(1, Ack{Own: true, At: 200 * ms, SentAt: 100 * ms, RTT: 100 * ms})
	p.Acked(1, Ack{Own: true, At: 200 * ms, SentAt: 100 * ms, RTT: 100 * ms})
	same(t, "open batches", len(p.touched), 1)
	p.EndBatch()
	same(t, "open batches at the end", len(p.touched), 0)
	near(t, "RTT", q.SRTT, 0.1)
	same(t, "RTO", p.RTO(1), 350*ms)
	p.Lost(1, 0, 3)
	same(t, "lost", q.lost, 3)
	same(t, "probing", p.Probing(1), false)
	p.OnTimeout(1, 0)
	same(t, "probing", p.Probing(1), true)
	p.OnSpuriousLoss(1, 0, 120*ms)
	same(t, "probing", p.Probing(1), false)
	packets, apart := p.Reordering(1)
	if packets != 3 || apart != 20*ms {
		t.Errorf("reordering by %d packets and %v", packets, apart)
	}
	q.lossRatio = 0.005
	same(t, "doubtful", p.Doubtful(1), false)
	q.lossRatio = 0.0051
	same(t, "doubtful", p.Doubtful(1), true)
	q.pace = 2000
	same(t, "packets in a row", p.RunPackets(1), 32)
	q.pace = 1e6
	same(t, "packets in a row", p.RunPackets(1), 256)
	before := *q
	p.TimedOut(1)
	p.WriteError(1)
	same(t, "window after errors", q.SRTT, before.SRTT)
}

func TestArrivalIsHalfTheRTTAndTheQueueAway(t *testing.T) {
	p := deliveryRates(t, Setup{Connections: 1, SessionWindowPackets: 400})
	same(t, "arrival on an unknown path", p.Arrival(0, time.Second), 2500*ms)
	p.paths[0] = measuredPath(steady, 0.01)
	same(t, "arrival", p.Arrival(0, time.Second), 1050*ms)
}

// A connection takes a segment unless the other would bring the last of those that wait before this one brings the first.
func TestSuits(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(mine, other *path)
		waiting int
		want    bool
	}{
		"the other takes as long":       {func(_, _ *path) {}, 60, true}, // 100 ms here, 60 and 40 there
		"the other is faster":           {func(_, _ *path) {}, 59, false},
		"the other is not free":         {func(_, other *path) { other.nextAt = 1002 * ms }, 59, true},
		"the other is free already":     {func(_, other *path) { other.nextAt = 900 * ms }, 59, false},
		"the other is silent":           {func(_, other *path) { other.silent = 1 }, 1, true},
		"the other is unknown":          {func(_, other *path) { other.rates = minmax{} }, 1, true},
		"this one is unknown":           {func(mine, _ *path) { mine.base = minmax{smallest: true} }, 1, true},
		"this one would be behind both": {func(mine, _ *path) { mine.queueing = 0.5 }, 400, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := deliveryRates(t, Setup{Connections: 2, SessionWindowPackets: 400})
			mine, other := measuredPath(steady, 0.06), measuredPath(steady, 0)
			other.pace = 1000
			p.paths = []*path{mine, other}
			c.change(mine, other)
			same(t, "suits", p.Suits(0, time.Second, c.waiting), c.want)
		})
	}
}

func TestSuitsLooksAtAllOthers(t *testing.T) {
	p := deliveryRates(t, Setup{Connections: 3, SessionWindowPackets: 400})
	p.paths = []*path{measuredPath(steady, 0.06), measuredPath(steady, 0), measuredPath(steady, 0)}
	p.paths[1].silent = 1
	p.paths[2].pace = 1000
	same(t, "suits beside a silent and a faster one", p.Suits(0, time.Second, 59), false)
}

// What is added up once is what adding up anew gives, whatever happens to the paths.
func TestWindowsFollowEveryChange(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 4).Draw(rt, "connections")
		p := newDeliveryRate(Setup{Connections: n, SessionWindowPackets: 4096}).(*deliveryRate)
		now := time.Duration(0)
		marks := make([]Mark, n)
		for range rapid.IntRange(1, 60).Draw(rt, "events") {
			now += time.Duration(rapid.IntRange(1, 300).Draw(rt, "ms")) * ms
			c := rapid.IntRange(0, n-1).Draw(rt, "connection")
			switch rapid.IntRange(0, 4).Draw(rt, "kind") {
			case 0:
				marks[c] = p.Sent(c, now, rapid.IntRange(1, 50).Draw(rt, "in flight"), rapid.Bool().Draw(rt, "starved"))
			case 1:
				for range rapid.IntRange(1, 20).Draw(rt, "packets") {
					p.Acked(c, Ack{Own: true, At: now, SentAt: max(0, now-80*ms), RTT: 80 * ms, Mark: marks[c]})
				}
				p.EndBatch()
			case 2:
				p.OnTimeout(c, now)
			case 3:
				p.OnSpuriousLoss(c, now, 100*ms)
			case 4:
				p.Lost(c, now, 5)
			}
			p.Window(rapid.IntRange(0, n-1).Draw(rt, "asked for"))
			if want := p.addRates(); p.rates != want {
				rt.Fatalf("the rates are taken for %+v, and are %+v", p.rates, want)
			}
		}
	})
}
