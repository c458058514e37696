package linkmodel

// Duplication has frames arrive twice, at the same time.
type Duplication struct {
	// Duplicate is the share of frames that do.
	Duplicate float64 `json:"duplicate,omitempty" max:"1"`
}

func (d *Duplication) begin(draws stream) func(*outcome) {
	r := draws("duplicate")
	return func(f *outcome) {
		if chance(r, d.Duplicate) {
			f.copies++
		}
	}
}
