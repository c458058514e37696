package fetch

import "time"

// Times of the retransmission timer (RFC 6298).
const (
	initialRTO = time.Second
	maxRTO     = 60 * time.Second
)

// timer estimates the retransmission time-out as RFC 6298 does.
type timer struct {
	srtt, rttvar float64 // seconds; srtt 0: no sample yet
	rto, min     time.Duration
}

func newTimer(min time.Duration) timer { return timer{rto: max(initialRTO, min), min: min} }

// sample takes a segment's RTT. A round trip has several samples, the RFC's
// gains are for one of them: each counts for 1/expected of it (RFC 7323, G).
func (t *timer) sample(rtt time.Duration, expected int) {
	r, n := rtt.Seconds(), float64(max(expected, 1))
	if t.srtt == 0 {
		t.srtt, t.rttvar = r, r/2
	} else {
		t.rttvar += (abs(t.srtt-r) - t.rttvar) / (4 * n)
		t.srtt += (r - t.srtt) / (8 * n)
	}
	t.rto = t.bounded(time.Duration((t.srtt + 4*t.rttvar) * float64(time.Second)))
}

// backOff doubles the time-out after one.
func (t *timer) backOff() { t.rto = t.bounded(2 * t.rto) }

func (t *timer) bounded(d time.Duration) time.Duration { return min(max(d, t.min), maxRTO) }

func abs(v float64) float64 { return max(v, -v) }
