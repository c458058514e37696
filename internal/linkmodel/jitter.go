package linkmodel

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Jitter distributions, see [Jitter.JitterKind].
const (
	JitterUniform = "uniform" // in [-jitter_ms, +jitter_ms]
	JitterNormal  = "normal"  // mean 0, standard deviation jitter_ms
	JitterSamples = "samples" // drawn, with replacement, from jitter_samples_ms
)

// Jitter is added to the delay of each frame; the sum is never below 0.
type Jitter struct {
	// JitterMS is the width of JitterKind.
	JitterMS float64 `json:"jitter_ms,omitempty" max:"3.6e6"`
	// JitterKind is one of the Jitter constants; empty is uniform.
	JitterKind string `json:"jitter,omitempty" words:"uniform, normal, samples"`
	// JitterSamplesMS are the samples of JitterSamples.
	JitterSamplesMS []float64 `json:"jitter_samples_ms,omitempty" max:"3.6e6"`
	// JitterReorders lets a frame with little jitter overtake one with much, as netem does. Otherwise it
	// waits its turn.
	JitterReorders bool `json:"jitter_reorders,omitempty"`
}

func (j *Jitter) begin(draws stream) func(*outcome) {
	r := draws("jitter")
	return func(f *outcome) {
		if f.overtakes {
			return
		}
		f.unordered = j.JitterReorders
		switch {
		case j.JitterKind == JitterSamples:
			if n := len(j.JitterSamplesMS); n > 0 {
				f.delayMS += j.JitterSamplesMS[r.IntN(n)]
			}
		case j.JitterMS == 0:
		case j.JitterKind == JitterNormal:
			f.delayMS += float64(r.NormFloat64() * j.JitterMS)
		default:
			f.delayMS += float64((2*r.Float64() - 1) * j.JitterMS)
		}
	}
}

func (j *Jitter) minMS(delayMS float64) float64 {
	switch {
	case j.JitterKind == JitterSamples:
		if len(j.JitterSamplesMS) > 0 {
			return delayMS + slices.Min(j.JitterSamplesMS)
		}
		return delayMS
	case j.JitterMS > 0 && j.JitterKind == JitterNormal:
		return math.Inf(-1)
	}
	return delayMS - j.JitterMS
}

// ParseSamples reads samples of jitter: milliseconds, one per line. The error names the line.
func ParseSamples(text []byte) ([]float64, error) {
	var samples []float64
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		ms, err := strconv.ParseFloat(line, 64)
		if err != nil || math.IsNaN(ms) || math.IsInf(ms, 0) {
			return nil, fmt.Errorf("line %d: %.40q, want milliseconds", i+1, line)
		}
		samples = append(samples, ms)
	}
	if len(samples) == 0 {
		return nil, fmt.Errorf("no sample, want milliseconds, one per line")
	}
	return samples, nil
}
