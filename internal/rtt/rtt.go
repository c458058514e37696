// Package rtt estimates round trips, and what retransmission timeout follows
// from them (RFC 6298).
package rtt

import (
	"math"
	"time"
)

// Estimator smooths round trip times: in whole nanoseconds, or in seconds as
// fractions. Before the first sample, both are 0.
type Estimator[T time.Duration | float64] struct {
	SRTT, RTTVAR T
}

// Add takes a sample. Of a round trip with several, each counts for its share,
// as the RFC's gains are for one (RFC 7323, appendix G).
func (e *Estimator[T]) Add(sample, perRoundTrip T) {
	if e.SRTT == 0 {
		e.SRTT, e.RTTVAR = sample, sample/2
		return
	}
	e.RTTVAR += (max(sample-e.SRTT, e.SRTT-sample) - e.RTTVAR) / (4 * perRoundTrip)
	e.SRTT += (sample - e.SRTT) / (8 * perRoundTrip)
}

// Timeout is the rule of a retransmission timer.
type Timeout struct {
	Initial    time.Duration // before the first sample
	Margin     time.Duration // added to SRTT + 4·RTTVAR
	Min, Max   time.Duration // of a timer that is not backed off
	Backoff    float64       // factor for each timeout in a row
	MaxBackoff time.Duration // of a timer that is backed off, if it was not longer before
}

// After returns the timeout after so many timeouts in a row, from an estimate
// in seconds.
func (r *Timeout) After(e Estimator[float64], timeouts int) time.Duration {
	rto := r.Initial
	if e.SRTT != 0 {
		rto = time.Duration((e.SRTT+4*e.RTTVAR)*float64(time.Second)) + r.Margin
	}
	rto = min(max(rto, r.Min), r.Max)
	if timeouts == 0 {
		return rto
	}
	backedOff := float64(rto) * math.Pow(r.Backoff, float64(timeouts))
	return time.Duration(min(backedOff, float64(max(rto, r.MaxBackoff))))
}
