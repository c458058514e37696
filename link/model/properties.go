package model

// Jitter distributions, see [Properties.JitterKind].
const (
	JitterUniform = "uniform" // in [-jitter_ms, +jitter_ms]
	JitterNormal  = "normal"  // mean 0, standard deviation jitter_ms
	JitterSamples = "samples" // drawn, with replacement, from jitter_samples_ms
)

// Properties are all that can be asked of one direction of a link. The zero value passes every frame on at
// once. Shares are fractions from 0 to 1.
type Properties struct {
	// RateBPS is in bits per second of the frames' bytes; 0 is no limit.
	RateBPS float64 `json:"rate_bps,omitempty"`
	// FramesPPS is in frames per second, whatever their size; 0 is no limit.
	FramesPPS float64 `json:"frames_pps,omitempty"`
	// BurstBytes is the bucket of a token-bucket rate: what may leave at once after idling. 0 sends each
	// frame in the time its bits take. For RateBPS only.
	BurstBytes int `json:"burst_bytes,omitempty"`
	// Trace, if not empty, gives the rate in mahimahi's way instead.
	Trace Trace `json:"trace_ms,omitzero"`
	// Queue is what waits for the rate; without a rate nothing waits.
	Queue Queue `json:"queue"`

	// DelayMS is the one-way delay.
	DelayMS float64 `json:"delay_ms"`
	// JitterMS is the width of JitterKind, added to the delay of each frame; the sum is never below 0.
	JitterMS float64 `json:"jitter_ms,omitempty"`
	// JitterKind is one of the Jitter constants; empty is uniform.
	JitterKind string `json:"jitter,omitempty"`
	// JitterSamplesMS are the samples of JitterSamples.
	JitterSamplesMS []float64 `json:"jitter_samples_ms,omitempty"`
	// JitterReorders lets a frame with little jitter overtake one with much, as netem does. Otherwise it
	// waits its turn.
	JitterReorders bool `json:"jitter_reorders,omitempty"`

	// Loss is the share of frames lost, each for itself.
	Loss float64 `json:"loss"`
	// GilbertElliott, if set, loses frames in bursts instead.
	GilbertElliott *GilbertElliott `json:"gilbert_elliott,omitempty"`

	// Reorder is the share of frames that skip the delay, and so overtake others, as netem's reorder does.
	Reorder float64 `json:"reorder,omitempty"`
	// Duplicate is the share of frames that arrive twice.
	Duplicate float64 `json:"duplicate,omitempty"`
	// Corrupt is the share of frames that arrive with one bit flipped, past the Ethernet header.
	Corrupt float64 `json:"corrupt,omitempty"`
}

// Limited tells whether frames wait for a rate.
func (p *Properties) Limited() bool { return p.RateBPS > 0 || p.FramesPPS > 0 || len(p.Trace.at) > 0 }
