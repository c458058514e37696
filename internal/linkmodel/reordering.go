package linkmodel

import "math"

// Reordering lets frames skip the delay, and so overtake others, as netem's reorder does.
type Reordering struct {
	// Reorder is the share of frames that do.
	Reorder float64 `json:"reorder,omitempty" max:"1"`
}

func (o *Reordering) begin(draws stream) func(*outcome) {
	r := draws("reorder")
	return func(f *outcome) { f.overtakes = chance(r, o.Reorder) }
}

func (o *Reordering) minMS(delayMS float64) float64 {
	if o.Reorder > 0 {
		return math.Inf(-1)
	}
	return delayMS
}
