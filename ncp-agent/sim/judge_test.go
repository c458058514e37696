package sim

import (
	"fmt"
	"math"
	"time"
)

const never = time.Duration(math.MaxInt64)

// since returns a transfer's samples from its establishment on, in its time.
func (r *Result) since(transfer int) (samples []Sample) {
	start := r.Transfers[transfer].EstablishedAt
	for _, s := range r.Samples {
		if s.Transfer == transfer && s.At >= start {
			s.At -= start
			samples = append(samples, s)
		}
	}
	return samples
}

// received counts the data packets that arrived on a connection between two
// samples.
func received(from, to *Sample, conn int) float64 {
	return float64(to.Receiver.Connections[conn].Received - from.Receiver.Connections[conn].Received)
}

// settled is the first time from which on a ratio stays within ±20% of its
// goal until the end.
func settled(samples []Sample, goal float64, ratio func(i int) float64) time.Duration {
	at := never
	for i := range samples {
		if r := ratio(i); math.IsNaN(r) || math.Abs(r/goal-1) > 0.2 {
			at = never
		} else if at == never {
			at = samples[i].At
		}
	}
	return at
}

// windowRatio is connection 0's window over connection 1's.
func windowRatio(samples []Sample) func(int) float64 {
	return func(i int) float64 {
		c := samples[i].Sender.Connections
		return c[0].WindowPackets / c[1].WindowPackets
	}
}

// deliveredRatio is the same of what arrived in the last while.
func deliveredRatio(samples []Sample, while time.Duration) func(int) float64 {
	return func(i int) float64 {
		from := i
		for from > 0 && samples[i].At-samples[from].At < while {
			from--
		}
		return received(&samples[from], &samples[i], 0) / received(&samples[from], &samples[i], 1)
	}
}

// baseRTT is a connection's RTT without any queue: both delays, and half of the
// time between acknowledgements.
func baseRTT(p path) time.Duration {
	return time.Duration(2*p.delayMS*float64(time.Millisecond)) + 25*time.Millisecond
}

// rttRatio is the mean of a connection's RTT over its base, from a time on.
func rttRatio(samples []Sample, conn int, p path, from time.Duration) float64 {
	sum, n := 0.0, 0.0
	for i := range samples {
		if samples[i].At >= from {
			sum += samples[i].Sender.Connections[conn].RTT.Seconds()
			n++
		}
	}
	return sum / n / baseRTT(p).Seconds()
}

func rttRatios(r *Result, paths []path) string {
	samples := r.since(0)
	text := ""
	for c, p := range paths {
		text += fmt.Sprintf(" %.1f", rttRatio(samples, c, p, samples[len(samples)-1].At/2))
	}
	return text
}

func show(d time.Duration) string {
	if d == never {
		return "never"
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}
