package policy

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ncp-testbed/internal/timing"
)

func TestWindowedIsTheExtremeOfTheLastWhile(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		smallest := rapid.Bool().Draw(rt, "smallest")
		w := minmax{smallest: smallest}
		var at []time.Duration
		var values []float64
		now := time.Duration(0)
		const keep = time.Second
		for range rapid.IntRange(1, 60).Draw(rt, "samples") {
			now += time.Duration(rapid.IntRange(0, 600).Draw(rt, "ms")) * time.Millisecond
			value := rapid.Float64Range(0, 100).Draw(rt, "value")
			at, values = append(at, now), append(values, value)
			w.add(now, value, keep)
			want := value
			for i := range at {
				if at[i] >= now-keep && (smallest && values[i] < want || !smallest && values[i] > want) {
					want = values[i]
				}
			}
			if w.value() != want {
				rt.Fatalf("%v at %v of %v, %v, want %v", w.value(), now, at, values, want)
			}
		}
	})
}

// drive sends on all connections at once and acknowledges after the RTT, every
// 50 ms, what a path of each rate has carried.
func drive(p *deliveryRate, pps []float64, rtt, until time.Duration) {
	type sent struct {
		at      time.Duration
		arrives time.Duration
		mark    Mark
	}
	flying := make([][]sent, len(pps))
	free := make([]time.Duration, len(pps))
	for now := time.Duration(0); now < until; now += time.Millisecond {
		for c := range pps {
			for p.SendAt(c, now, len(flying[c])) <= now {
				free[c] = max(free[c], now) + timing.Seconds(1/pps[c])
				mark := p.Sent(c, now, len(flying[c])+1, false)
				flying[c] = append(flying[c], sent{now, free[c] + rtt, mark})
			}
			if now%(50*time.Millisecond) != 0 {
				continue
			}
			n := 0
			for _, s := range flying[c] {
				if s.arrives > now {
					break
				}
				p.Acked(c, Ack{Own: true, At: now, SentAt: s.at, RTT: now - s.at, Mark: s.mark})
				n++
			}
			flying[c] = flying[c][n:]
			p.EndBatch()
		}
	}
}

// Whatever the rates, the windows come to share W in their proportion, and what
// is in flight to what the path holds.
func TestDeliveryRateFindsTheRates(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		pps := rapid.SliceOfN(rapid.Float64Range(100, 10000), 1, 4).Draw(rt, "rates")
		rtt := time.Duration(rapid.IntRange(10, 300).Draw(rt, "RTT ms")) * time.Millisecond
		p := newDeliveryRate(Setup{Connections: len(pps), SessionWindowPackets: 4096}).(*deliveryRate)
		drive(p, pps, rtt, 30*rtt+3*time.Second)
		sum, total := 0.0, 0.0
		for c, r := range pps {
			sum += r
			total += p.Window(c)
		}
		if math.Abs(total-4096) > float64(len(pps)) {
			rt.Fatalf("windows sum to %v", total)
		}
		for c, r := range pps {
			if want := 4096 * r / sum; math.Abs(p.Window(c)/want-1) > 0.2 {
				rt.Fatalf("rates %v: window %d is %.0f, want %.0f", pps, c, p.Window(c), want)
			}
			if most := 2*r*(rtt.Seconds()+0.1) + 16; float64(p.paths[c].cap()) > most {
				rt.Fatalf("rate %v, RTT %v: up to %d in flight, want at most %.0f", r, rtt, p.paths[c].cap(), most)
			}
		}
	})
}

func TestSilentConnectionReportsOneAndReturns(t *testing.T) {
	p := newDeliveryRate(Setup{Connections: 2, SessionWindowPackets: 4096}).(*deliveryRate)
	drive(p, []float64{1000, 1000}, 100*time.Millisecond, 3*time.Second)
	before := p.RTO(1)
	p.OnTimeout(1, 3*time.Second)
	if p.Window(1) != MinWindow || p.Window(0) < 4095 || !p.Probing(1) {
		t.Errorf("windows %v and %v, probing %v", p.Window(0), p.Window(1), p.Probing(1))
	}
	p.OnTimeout(1, 4*time.Second)
	if p.RTO(1) <= before || p.RTO(1) > max(before, p.paths[1].timer.MaxBackoff) {
		t.Errorf("RTO %v after %v", p.RTO(1), before)
	}
	p.Acked(1, Ack{Own: true, At: 5 * time.Second, Ambiguous: true})
	p.EndBatch()
	if math.Abs(p.Window(1)-2048) > 100 || p.Probing(1) {
		t.Errorf("window %v after an acknowledgement, want half of W again", p.Window(1))
	}
}

func TestNKP24SumAndMinimum(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 64).Draw(rt, "connections")
		total := rapid.Float64Range(1, 1<<20).Draw(rt, "W")
		p, err := Start("nkp24", Setup{Connections: n, SessionWindowPackets: total})
		if err != nil {
			rt.Fatal(err)
		}
		for range rapid.IntRange(1, 50).Draw(rt, "events") {
			c := rapid.IntRange(0, n-1).Draw(rt, "connection")
			switch rapid.IntRange(0, 2).Draw(rt, "kind") {
			case 0:
				p.Acked(c, Ack{})
			case 1:
				p.TimedOut(c)
			case 2:
				p.WriteError(c)
			}
			p.EndBatch()
			sum := 0.0
			for _, w := range windows(p, n) {
				if w < MinWindow {
					rt.Fatalf("a window of %v packets", w)
				}
				sum += w
			}
			if sum < total-1e-6*total || sum > total+float64(n)+1e-6*total {
				rt.Fatalf("windows sum to %v, want %v (and less than %d more)", sum, total, n)
			}
		}
	})
}
