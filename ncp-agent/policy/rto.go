package policy

import (
	"math"
	"time"

	"ncp-testbed/internal/rtt"
)

// The timer of RFC 6298 itself is rtt.Timeout; here are its parameters for each policy, which have a margin of one
// acknowledgement interval: one acknowledgement may be lost.

const initialRTO = 1500 * time.Millisecond

// mptcpRTO is TCP's timer (RFC 6298, and the minimum of Linux), for minrtt, BLEST and ECF.
func mptcpRTO(ackInterval time.Duration) rtt.Timeout {
	return rtt.Timeout{
		Initial: initialRTO, Margin: ackInterval, Min: 200 * time.Millisecond, Max: 60 * time.Second,
		Backoff: 2, MaxBackoff: 60 * time.Second,
	}
}

// deliveryRateRTO is a timer that probes a silent path less and less often, but every second at least.
func deliveryRateRTO(ackInterval time.Duration) rtt.Timeout {
	return rtt.Timeout{
		Initial: initialRTO, Margin: ackInterval, Min: 150 * time.Millisecond, Max: math.MaxInt64,
		Backoff: 1.5, MaxBackoff: time.Second,
	}
}

// UpstreamRTO returns ncp-go's next timeout after a sample, for policies
// without Recovery: rto += tanh((3·rtt − rto)/1 s)·100 ms, at most the maximum.
func UpstreamRTO(rto, sample, maxRTO time.Duration) time.Duration {
	step := math.Tanh((3*sample - rto).Seconds()) * float64(100*time.Millisecond)
	return min(rto+time.Duration(step), maxRTO)
}
