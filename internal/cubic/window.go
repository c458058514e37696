// Package cubic is TCP CUBIC's congestion window (RFC 9438), without fast
// convergence, and slow start around it.
package cubic

import (
	"math"
	"time"
)

// CUBIC's constants (RFC 9438).
const (
	scale    = 0.4 // C, packets per second cubed
	decrease = 0.7 // β
	// renoGain is how many packets a window grows per round trip at least, so
	// that it is as large on average as with TCP Reno's rule: 3(1−β)/(1+β).
	renoGain = 0.53
	minStart = 4
)

// Window is the congestion window, moved once per round trip, without slow start.
type Window struct {
	Packets float64

	largest float64 // before the last loss
	reno    float64
	from    time.Duration // the last loss
}

// Start begins with a window whose growth has just come to its end.
func (w *Window) Start(now time.Duration, packets float64) {
	packets = max(packets, minStart)
	*w = Window{Packets: packets, largest: packets, reno: packets, from: now - plateau(packets)}
}

// plateau is K, the time from a loss until the window is what it was.
func plateau(largest float64) time.Duration {
	return time.Duration(math.Cbrt(largest*(1-decrease)/scale) * float64(time.Second))
}

// Lost cuts the window.
func (w *Window) Lost(now time.Duration) {
	w.largest = w.Packets
	w.Packets = max(decrease*w.Packets, minStart)
	w.reno = w.Packets
	w.from = now
}

// Grow is for one round trip without loss. The window grows by half at most.
func (w *Window) Grow(now time.Duration, rttS float64) {
	t := (now - w.from - plateau(w.largest)).Seconds() + rttS
	w.reno += renoGain
	goal := max(w.largest+scale*t*t*t, w.reno, w.Packets)
	w.Packets = min(goal, 1.5*w.Packets)
}
