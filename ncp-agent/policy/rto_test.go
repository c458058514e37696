package policy

import (
	"math"
	"testing"
	"time"

	"ncp-testbed/internal/timing"
)

func TestUpstreamRTO(t *testing.T) {
	const maxRTO = 10 * time.Second
	rto, want := 5*time.Second, 5.0
	for _, sample := range []float64{0.1, 0.15, 3, 4, 4} {
		rto = UpstreamRTO(rto, timing.Seconds(sample), maxRTO)
		want = min(10, want+0.1*math.Tanh(3*sample-want))
		if math.Abs(rto.Seconds()-want) > 1e-6 {
			t.Fatalf("RTO %v after RTT %v s, want %.6f s", rto, sample, want)
		}
	}
	for range 200 {
		rto = UpstreamRTO(rto, 8*time.Second, maxRTO)
	}
	if rto != maxRTO {
		t.Errorf("RTO %v, want the maximum", rto)
	}
}

// What the peer acknowledges less or more often is waited for accordingly.
func TestTimersAndBoundsFollowTheAcknowledgementInterval(t *testing.T) {
	for _, interval := range []time.Duration{5 * ms, 50 * ms, 400 * ms} {
		for name, timeout := range map[string]time.Duration{"delivery-rate": 1500 * ms, "minrtt": 1500 * ms} {
			p := start(t, name, Setup{Connections: 1, SessionWindowPackets: 4096, AckInterval: interval})
			same(t, name+": RTO before the first sample", p.(Recovery).RTO(0), timeout)
			// A round trip of 400 ms: SRTT + 4·RTTVAR is 1.2 s.
			p.Acked(0, Ack{Own: true, At: time.Second, SentAt: 600 * ms, RTT: 400 * ms})
			p.EndBatch()
			same(t, name+": RTO", p.(Recovery).RTO(0), 1200*ms+interval)
		}
		// In flight at 1000 packets/s over 80 ms: the path, a quarter more, and two intervals' packets.
		p := newPath(64, 100, interval)
		p.mode, p.pace = steady, 1000
		p.rates.set(0, 1000)
		p.base.set(0, 0.08)
		same(t, "packets in flight", p.bound(), 100+2*int(interval/ms)+8)
		near(t, "round trip", p.roundTrip(), 0.08+interval.Seconds())
	}
}
