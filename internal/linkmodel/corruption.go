package linkmodel

const ethernetHeaderBytes = 14

// Corruption flips one bit of a frame, past the Ethernet header.
type Corruption struct {
	// Corrupt is the share of frames that arrive with one bit flipped.
	Corrupt float64 `json:"corrupt,omitempty" max:"1"`
}

func (c *Corruption) begin(draws stream) func(*outcome) {
	r := draws("corrupt")
	return func(f *outcome) {
		if f.bytes > ethernetHeaderBytes && chance(r, c.Corrupt) {
			f.flipBit = 8*ethernetHeaderBytes + r.IntN(8*(f.bytes-ethernetHeaderBytes))
		}
	}
}
