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

// aimd adds step per segment in slow start and per round trip after it, and
// multiplies by beta at a cut.
type aimd struct{ segments, limit, step, beta float64 }

func newAIMD(initial, step, beta float64) *aimd {
	return &aimd{initial, math.Inf(1), step, beta}
}

func (w *aimd) size() float64      { return w.segments }
func (w *aimd) threshold() float64 { return w.limit }

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

// cubicWindow is TCP CUBIC's, with slow start before the first cut.
type cubicWindow struct{ cubic.Sender }

func newCubic(initial float64) *cubicWindow { return &cubicWindow{cubic.NewSender(initial)} }

func (w *cubicWindow) size() float64                         { return w.Packets }
func (w *cubicWindow) threshold() float64                    { return w.Threshold }
func (w *cubicWindow) arrived(time.Duration, float64)        { w.Acked(1) }
func (w *cubicWindow) round(now time.Duration, rttS float64) { w.EndRound(now, rttS) }
func (w *cubicWindow) cut(now time.Duration)                 { w.Lost(now) }
