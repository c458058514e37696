package model

import (
	"math/rand/v2"
	"slices"
)

// drawDelay is the delay of one frame in nanoseconds, never below 0.
func drawDelay(p *Properties, r *rand.Rand) Time {
	ms := p.DelayMS
	switch {
	case p.JitterKind == JitterSamples:
		if n := len(p.JitterSamplesMS); n > 0 {
			ms += p.JitterSamplesMS[r.IntN(n)]
		}
	case p.JitterMS == 0:
	case p.JitterKind == JitterNormal:
		ms += r.NormFloat64() * p.JitterMS
	default:
		ms += (2*r.Float64() - 1) * p.JitterMS
	}
	return max(0, Time(ms*nsPerMs))
}

// MinDelay is the shortest time that a frame can take, in nanoseconds; 0 if jitter or reordering sets no bound.
func (p *Properties) MinDelay() Time {
	ms := p.DelayMS
	switch {
	case p.Reorder > 0:
		return 0
	case p.JitterKind == JitterSamples:
		if len(p.JitterSamplesMS) > 0 {
			ms += slices.Min(p.JitterSamplesMS)
		}
	case p.JitterMS > 0 && p.JitterKind == JitterNormal:
		return 0
	default:
		ms -= p.JitterMS
	}
	return max(0, Time(ms*nsPerMs))
}
