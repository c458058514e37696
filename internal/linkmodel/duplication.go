package linkmodel

// Duplication has frames arrive twice, at the same time.
type Duplication struct {
	// Duplicate is the share of frames that do.
	Duplicate float64 `json:"duplicate,omitempty" most:"1"`
}

func (d *Duplication) begin(draws stream) func(*fate) {
	r := draws("duplicate")
	return func(f *fate) {
		if chance(r, d.Duplicate) {
			f.copies++
		}
	}
}
