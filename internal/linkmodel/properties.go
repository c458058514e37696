package linkmodel

// Properties are all that can be configured of one direction of a link. The zero value passes every frame on at
// once. Shares are fractions from 0 to 1. Beside a property's key in JSON its tags say which numbers mean
// something (min, if it is not 0, and max), which words do, and which properties replace each other (oneof).
type Properties struct {
	// RateBPS is in bits per second of the frames' bytes; 0 is no limit.
	RateBPS float64 `json:"rate_bps,omitempty" min:"0.001" max:"1e12" oneof:"rate"`
	// FramesPPS is in frames per second, whatever their size; 0 is no limit.
	FramesPPS float64 `json:"frames_pps,omitempty" min:"0.001" max:"1e12" oneof:"rate"`
	// Trace, if not empty, sets the rate in mahimahi's way instead.
	Trace Trace `json:"trace_ms,omitzero" oneof:"rate"`
	// BurstBytes is the bucket of a token-bucket rate: what may leave at once after idling. 0 sends each
	// frame in the time its bits take. For RateBPS only.
	BurstBytes int `json:"burst_bytes,omitempty" max:"1e9"`
	// Queue is what waits for the rate; without a rate nothing waits.
	Queue Queue `json:"queue"`

	// DelayMS is the one-way delay.
	DelayMS float64 `json:"delay_ms" max:"3.6e6"`
	Impairments
}

// Limited reports whether frames wait for a rate.
func (p *Properties) Limited() bool { return p.RateBPS > 0 || p.FramesPPS > 0 || len(p.Trace.at) > 0 }
