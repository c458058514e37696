package policy

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// answered tells a policy of packets that one acknowledgement packet
// acknowledges after an RTT.
func answered(p Policy, c, packets int, at, rtt time.Duration, mark Mark) {
	for range packets {
		p.Acked(c, Ack{Own: true, At: at, SentAt: at - rtt, RTT: rtt, Mark: mark})
	}
	p.EndBatch()
}

func startSubflows(t testing.TB, connections int) *minRTT {
	t.Helper()
	return start(t, "minrtt", Setup{Connections: connections, SessionWindowPackets: 4096}).(*minRTT)
}

// RFC 5681, 3.1: a packet more for each that is acknowledged, while it is used.
func TestSubflowStartsSlowly(t *testing.T) {
	p := startSubflows(t, 1)
	near(t, "first window", p.Window(0), initialWindow)
	mark := p.Sent(0, 0, 10, false)
	answered(p, 0, 10, 100*time.Millisecond, 100*time.Millisecond, mark)
	near(t, "window after a round trip", p.Window(0), 20)
	for i := range 10 {
		answered(p, 0, 10, time.Duration(i+2)*100*time.Millisecond, 100*time.Millisecond, Mark{Delivered: p.flows[0].delivered})
	}
	if p.Window(0) > 30 {
		t.Errorf("a window that is not used grew to %v", p.Window(0))
	}
}

// RFC 9438: 0.7 of the window after a loss, once per round trip.
func TestSubflowCutsOncePerRoundTrip(t *testing.T) {
	p := startSubflows(t, 1)
	p.flows[0].Packets, p.flows[0].SRTT = 100, 0.1
	p.Lost(0, time.Second, 1)
	near(t, "window after a loss", p.Window(0), 70)
	p.Lost(0, time.Second+50*time.Millisecond, 5)
	near(t, "window after one of the same round trip", p.Window(0), 70)
	p.Lost(0, time.Second+150*time.Millisecond, 1)
	near(t, "window after one of the next", p.Window(0), 49)
}

// RFC 5681, 3.1, and RFC 6298, 5.5: one packet after a timeout, the timer
// doubles; back, it starts slowly up to what a loss leaves.
func TestSubflowAfterSilence(t *testing.T) {
	p := startSubflows(t, 1)
	f := p.flows[0]
	f.Packets, f.SRTT, f.RTTVAR = 100, 0.1, 0.05
	before := p.RTO(0)
	p.OnTimeout(0, time.Second)
	p.OnTimeout(0, 2*time.Second)
	near(t, "window", p.Window(0), 1)
	if p.RTO(0) != 4*before || !p.Probing(0) {
		t.Errorf("RTO %v after %v and two timeouts, probing %v", p.RTO(0), before, p.Probing(0))
	}
	p.Sent(0, 0, 100, false)
	answered(p, 0, 1, 3*time.Second, 100*time.Millisecond, Mark{})
	near(t, "window after an answer", p.Window(0), 2)
	answered(p, 0, 500, 4*time.Second, 100*time.Millisecond, Mark{})
	near(t, "window at the end of slow start", p.Window(0), 70)
}

// moment draws what a session could know, and gives the policy's connections
// windows and RTTs to go with it.
func moment(rt *rapid.T, flows []*subflow) Moment {
	m := Moment{
		Now:     time.Duration(rapid.IntRange(0, 10000).Draw(rt, "now ms")) * time.Millisecond,
		Waiting: rapid.IntRange(1, 5000).Draw(rt, "waiting"),
		Window:  rapid.IntRange(1, 5000).Draw(rt, "send window"),
		Blocked: rapid.Bool().Draw(rt, "blocked"),
	}
	for _, f := range flows {
		f.Packets = rapid.Float64Range(MinWindow, 3000).Draw(rt, "window")
		f.SRTT = rapid.SampledFrom([]float64{0, 0.01, 0.1, 0.1, 1}).Draw(rt, "srtt")
		f.RTTVAR = f.SRTT * rapid.Float64Range(0, 1).Draw(rt, "rttvar")
		f.silent = rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(rt, "silent")
		m.InFlight = append(m.InFlight, rapid.IntRange(0, 3000).Draw(rt, "in flight"))
		m.Usable = append(m.Usable, rapid.Bool().Draw(rt, "usable"))
		m.Open = append(m.Open, rapid.Bool().Draw(rt, "open"))
	}
	return m
}

// Nobody waits for nothing: where all connections that could send a segment
// leave it, one that answers has packets in flight, or waits for its socket.
func TestSchedulersAlwaysGoOn(t *testing.T) {
	for _, name := range []string{"minrtt", "blest", "ecf"} {
		rapid.Check(t, func(rt *rapid.T) {
			n := rapid.IntRange(1, 5).Draw(rt, "connections")
			p := start(t, name, Setup{Connections: n, SessionWindowPackets: 4096})
			flows := flowsOf(p)
			m := moment(rt, flows)
			asked, coming := false, false
			for c := range n {
				if m.Usable[c] && m.Open[c] && flows[c].silent == 0 && flows[c].room(m.InFlight[c]) {
					asked = true
					if CapabilitiesOf(p).Chooser.Takes(c, m) {
						return
					}
				} else if m.Usable[c] && flows[c].silent == 0 && (m.InFlight[c] > 0 || !m.Open[c]) {
					coming = true
				}
			}
			if asked && !coming {
				rt.Fatalf("%s: all leave a segment, and nothing will happen: %+v", name, m)
			}
		})
	}
}

// Whatever happens, a window is at least one packet, and the same events give
// the same windows.
func TestSubflowWindows(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 4).Draw(rt, "connections")
		setup := Setup{Connections: n, SessionWindowPackets: 4096}
		one, other := start(t, "ecf", setup).(*ecf), start(t, "ecf", setup).(*ecf)
		now := time.Duration(0)
		for range rapid.IntRange(1, 60).Draw(rt, "events") {
			now += time.Duration(rapid.IntRange(1, 300).Draw(rt, "ms")) * time.Millisecond
			c, kind := rapid.IntRange(0, n-1).Draw(rt, "connection"), rapid.IntRange(0, 3).Draw(rt, "kind")
			packets := rapid.IntRange(1, 100).Draw(rt, "packets")
			for _, p := range []*ecf{one, other} {
				switch kind {
				case 0:
					p.Sent(c, now, packets, false)
				case 1:
					answered(p, c, packets, now, 80*time.Millisecond, Mark{Delivered: p.flows[c].delivered})
				case 2:
					p.Lost(c, now, packets)
				case 3:
					p.OnTimeout(c, now)
				}
			}
			for i := range n {
				w := one.Window(i)
				if !(w >= MinWindow) || math.IsInf(w, 0) || w != other.Window(i) || one.RTO(i) > one.timer.Max {
					rt.Fatalf("windows %v and %v, RTO %v", w, other.Window(i), one.RTO(i))
				}
			}
		}
	})
}

func flowsOf(p Policy) []*subflow {
	switch p := p.(type) {
	case *minRTT:
		return p.flows
	case *blest:
		return p.flows
	case *ecf:
		return p.flows
	}
	return nil
}
