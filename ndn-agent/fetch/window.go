package fetch

import (
	"math"
	"time"

	"ncp-testbed/internal/cubic"
)

// minWindow is what a cut leaves at least.
const minWindow = 2

// window is the congestion window, in segments.
type window interface {
	size() float64
	// threshold is where slow start ends; infinite until the first cut.
	threshold() float64
	// arrived is for each segment that came without a cut.
	arrived(now time.Duration, rtt float64)
	// round is for each round trip.
	round(now time.Duration, rtt float64)
	cut(now time.Duration)
}

// slowStart is what both windows begin with.
type slowStart struct{ segments, limit float64 }

func (s *slowStart) size() float64      { return s.segments }
func (s *slowStart) threshold() float64 { return s.limit }

// aimd adds step per segment in slow start and per round trip after it, and
// multiplies by beta at a cut.
type aimd struct {
	slowStart
	step, beta float64
}

func newAIMD(initial, step, beta float64) *aimd {
	return &aimd{slowStart{initial, math.Inf(1)}, step, beta}
}

func (w *aimd) arrived(time.Duration, float64) {
	if w.segments < w.limit {
		w.segments += w.step
	} else {
		w.segments += w.step / math.Floor(w.segments)
	}
}

func (w *aimd) round(time.Duration, float64) {}

func (w *aimd) cut(time.Duration) {
	w.limit = max(minWindow, w.segments*w.beta)
	w.segments = w.limit
}

// cubicWindow is TCP CUBIC's after the first cut, slow start before.
type cubicWindow struct {
	slowStart
	after cubic.Window
}

func newCubic(initial float64) *cubicWindow {
	return &cubicWindow{slowStart: slowStart{initial, math.Inf(1)}}
}

func (w *cubicWindow) arrived(time.Duration, float64) {
	if w.segments < w.limit {
		w.segments++
	}
}

func (w *cubicWindow) round(now time.Duration, rtt float64) {
	if w.segments >= w.limit {
		w.after.Grow(now, rtt)
		w.segments = w.after.Packets
	}
}

func (w *cubicWindow) cut(now time.Duration) {
	if math.IsInf(w.limit, 1) {
		w.after.Start(now, w.segments)
	}
	w.after.Lost(now)
	w.segments, w.limit = w.after.Packets, w.after.Packets
}
