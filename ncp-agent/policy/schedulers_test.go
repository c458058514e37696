package policy

import (
	"testing"
	"time"

	"ncp-testbed/internal/cubic"
	"ncp-testbed/internal/rtt"
)

// pair is a policy's fast and slow connection, of which the fast one's window
// is full.
func pair(t *testing.T, name string, fast, slow subflow) (Chooser, []*subflow, Moment) {
	p := start(t, name, Setup{Connections: 2, SessionWindowPackets: 4096})
	flows := flowsOf(p)
	*flows[0], *flows[1] = fast, slow
	return CapabilitiesOf(p).Chooser, flows, Moment{
		Now: time.Second, Waiting: 1000, Window: 4096,
		InFlight: []int{int(fast.Packets), 0}, Usable: []bool{true, true}, Open: []bool{true, true},
	}
}

func TestMinRTTFillsTheFastestFirst(t *testing.T) {
	p, _, m := pair(t, "minrtt", subflow{Sender: cubic.Sender{Packets: 10}, Estimator: rtt.Estimator[float64]{SRTT: 0.01}}, subflow{Sender: cubic.Sender{Packets: 10}, Estimator: rtt.Estimator[float64]{SRTT: 0.1}})
	same(t, "slow takes while the fast one's window is full", p.Takes(1, m), true)
	m.InFlight[0] = 9
	same(t, "fast takes", p.Takes(0, m), true)
	same(t, "slow takes while fast has room", p.Takes(1, m), false)
	m.Open[0] = false
	same(t, "slow takes while fast waits for its socket", p.Takes(1, m), true)
	m.Open[0], m.Usable[0] = true, false
	same(t, "slow takes while fast is paused", p.Takes(1, m), true)
}

// Two paths of 10 and 100 ms whose windows hold ten packets each.
func TestECFWaitsForTheFastest(t *testing.T) {
	p, flows, m := pair(t, "ecf", subflow{Sender: cubic.Sender{Packets: 10}, Estimator: rtt.Estimator[float64]{SRTT: 0.01}}, subflow{Sender: cubic.Sender{Packets: 10}, Estimator: rtt.Estimator[float64]{SRTT: 0.1}})
	m.Waiting = 11 // one packet more than fast takes in a round trip: done after 2.1 of them, not after 100 ms
	same(t, "slow takes the last packet", p.Takes(1, m), false)
	// (1 + k/10)·10 ms < 100 ms up to k = 90, and with β, as it waits already, 125 ms up to 115.
	m.Waiting = 110
	same(t, "slow takes when waiting would just be as long", p.Takes(1, m), false)
	m.Waiting = 120
	same(t, "slow takes when there is enough for both", p.Takes(1, m), true)
	m.Waiting = 110
	same(t, "slow takes again, no longer waiting", p.Takes(1, m), true)
	m.Waiting = 80
	same(t, "slow takes when the fast one would be done before", p.Takes(1, m), false)
	// δ: what varies by 40 ms need not be slower.
	flows[1].RTTVAR = 0.04
	p.(*ecf).waiting = false
	m.Waiting = 110
	same(t, "slow takes though RTTs vary", p.Takes(1, m), false)
	// The second inequality: a slow path is no slower than two round trips of the fast one.
	flows[1].SRTT, flows[1].RTTVAR, m.Waiting = 0.018, 0, 5
	same(t, "slow takes what it brings in less than two round trips of fast", p.Takes(1, m), true)
}

// Who has not answered yet is not waited for, and is used to learn of it.
func TestNobodyWaitsForTheUnknown(t *testing.T) {
	for _, name := range []string{"minrtt", "blest", "ecf"} {
		p, _, m := pair(t, name, subflow{Sender: cubic.Sender{Packets: 10}}, subflow{Sender: cubic.Sender{Packets: 10}, Estimator: rtt.Estimator[float64]{SRTT: 0.1}})
		m.Waiting = 1
		same(t, name+" takes beside one that is unknown and full", p.Takes(1, m), true)
		m.InFlight[0] = 0
		same(t, name+": the unknown one takes", p.Takes(0, m), true)
		same(t, name+" leaves it to the unknown one", p.Takes(1, m), false)
	}
}

// BLEST's estimate: RTTs of 10 and 100 ms, 10 packets in fast's window: it sends
// (10 + 9/2)·10 = 145 packets meanwhile.
func TestBLESTKeepsTheSendWindowOpen(t *testing.T) {
	fast, slow := subflow{Sender: cubic.Sender{Packets: 10}, Estimator: rtt.Estimator[float64]{SRTT: 0.01}}, subflow{Sender: cubic.Sender{Packets: 100}, Estimator: rtt.Estimator[float64]{SRTT: 0.1}}
	near(t, "packets that fast sends meanwhile", sentMeanwhile(&slow, &fast), 145)
	p, _, m := pair(t, "blest", fast, slow)
	p.(*blest).correction, p.(*blest).correctedAt = 1, m.Now
	m.InFlight[1] = 20
	m.Window = 145 + 21
	same(t, "slow takes what just fits", p.Takes(1, m), true)
	m.Window--
	same(t, "slow takes what would block", p.Takes(1, m), false)
	m.InFlight[0] = 0
	same(t, "fast takes in any case", p.Takes(0, m), true)
}

// λ: up where the send window was full within a round trip of the slow path, else down, within its range.
func TestBLESTCorrects(t *testing.T) {
	c, _, m := pair(t, "blest", subflow{Sender: cubic.Sender{Packets: 10}, Estimator: rtt.Estimator[float64]{SRTT: 0.01}}, subflow{Sender: cubic.Sender{Packets: 100}, Estimator: rtt.Estimator[float64]{SRTT: 0.1}})
	p := c.(*blest)
	steps := []struct {
		after   time.Duration
		blocked bool
		want    float64
	}{{0, true, 1.24}, {50 * time.Millisecond, true, 1.24}, {60 * time.Millisecond, false, 1.28}, {time.Second, false, 1.27}, {time.Second, true, 1.3}}
	for _, step := range steps {
		m.Now += step.after
		m.Blocked = step.blocked
		p.Takes(1, m)
		near(t, "correction", p.correction, step.want)
	}
	for range 50 {
		m.Now += time.Second
		m.Blocked = false
		p.Takes(1, m)
	}
	near(t, "least correction", p.correction, minCorrection)
}
