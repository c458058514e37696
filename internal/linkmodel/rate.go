package linkmodel

import (
	"math"
	"time"
)

// meter is the clock of a constant rate, as the virtual scheduling of a token bucket (ITU-T I.371): freeAt is
// when all that was let through so far will have been sent at the rate.
type meter struct {
	freeAt time.Duration
	frac   float64 // of a nanosecond, so that rounding never adds up
}

// pace is a constant rate as the time that things take.
type pace struct {
	nsPerByte, nsPerFrame float64
	burst                 time.Duration
}

// WholeBPS rounds a rate to whole bits per second, at least one, so that a link of the model has the rate that the
// kernel's shaper gives one: of two that are as near the even one, as topologies/units.py does. 0, no limit, stays.
func WholeBPS(rate float64) float64 {
	if rate == 0 {
		return 0
	}
	return max(1, math.RoundToEven(rate))
}

// maxBurst, in nanoseconds, is a burst that no test outlives.
const maxBurst = 1e17

func newPace(p *Properties) pace {
	switch {
	case p.RateBPS > 0:
		perByte := 8 * nsPerS / p.RateBPS
		return pace{nsPerByte: perByte, burst: time.Duration(min(perByte*float64(p.BurstBytes), maxBurst))}
	case p.FramesPPS > 0:
		return pace{nsPerFrame: nsPerS / p.FramesPPS}
	}
	return pace{}
}

// serve returns when a frame that arrived at the given time leaves, and the meter after it. The last bit
// leaves then; with a burst, all frames that the bucket holds leave at once.
func (m meter) serve(p pace, arrival time.Duration, bytes int) (time.Duration, meter) {
	if m.freeAt < arrival {
		m = meter{freeAt: arrival}
	}
	took := p.nsPerFrame + p.nsPerByte*float64(bytes) + m.frac
	whole := math.Ceil(took)
	m.freeAt += time.Duration(whole)
	m.frac = took - whole
	return max(arrival, m.freeAt-p.burst), m
}

// rescale carries the work that is under way at a time over to another rate: what is half sent stays half sent.
// begun is when the frame at the head of the queue could begin, at the earliest; without one it is the time itself.
func (m meter) rescale(now, begun time.Duration, from, to pace) meter {
	before, after := from.nsPerByte+from.nsPerFrame, to.nsPerByte+to.nsPerFrame
	if before == after && (from.nsPerByte == 0) == (to.nsPerByte == 0) {
		return m
	}
	if before == 0 || after == 0 || (from.nsPerByte == 0) != (to.nsPerByte == 0) {
		return meter{freeAt: now}
	}
	left := max(m.freeAt, begun) - now
	return meter{freeAt: now + time.Duration(float64(left)*after/before)}
}
