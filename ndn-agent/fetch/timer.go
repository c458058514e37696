package fetch

import (
	"time"

	"ncp-testbed/internal/rtt"
)

// timer is the retransmission timer, whose minimum is the fetch's own.
type timer struct {
	rtt.Estimator[float64]
	rule     rtt.Timeout
	timeouts int // since the last sample
	rto      time.Duration
}

func newTimer(minRTO time.Duration) timer {
	rule := rtt.Timeout{
		Initial: time.Second, Min: minRTO, Max: 60 * time.Second, Backoff: 2, MaxBackoff: 60 * time.Second, // RFC 6298
	}
	t := timer{rule: rule}
	t.set()
	return t
}

// sample takes a segment's RTT, one of so many in this round trip.
func (t *timer) sample(sample time.Duration, perRoundTrip int) {
	t.Add(sample.Seconds(), float64(max(perRoundTrip, 1)))
	t.timeouts = 0
	t.set()
}

// backOff doubles the timeout after one.
func (t *timer) backOff() {
	t.timeouts++
	t.set()
}

func (t *timer) set() { t.rto = t.rule.After(t.Estimator, t.timeouts) }
