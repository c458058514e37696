package agent

import (
	"math"
	"slices"
	"time"

	"ncp-testbed/internal/quantile"
	"ncp-testbed/internal/telemetry"
	"ncp-testbed/internal/timing"
	"ncp-testbed/ndn-agent/faces"
	"ncp-testbed/ndn-agent/fetch"
	"ncp-testbed/ndn-agent/forwarder"
	"ncp-testbed/ndn-agent/marking"
)

// Result is what a node leaves in result.json. Which of the embedded parts it
// has depends on its role.
type Result struct {
	Node           string      `json:"node,omitempty"`
	Role           string      `json:"role"`
	Session        string      `json:"session,omitempty"`
	StartedUnixNS  timing.Unix `json:"started_unix_ns"`
	FinishedUnixNS timing.Unix `json:"finished_unix_ns"`
	DurationS      float64     `json:"duration_s"`
	// Bytes, SHA256 and Segments are of the object; a consumer's of what it has.
	Bytes    int64  `json:"bytes,omitempty"`
	SHA256   string `json:"sha256,omitempty"`
	Segments uint64 `json:"segments,omitempty"`
	*ConsumerResult
	*ForwarderResult
	*ProducerResult
	Faces     []FaceResult     `json:"faces"`
	GoneFaces FaceResult       `json:"gone_faces"` // together: of peers that came and went
	Telemetry telemetry.Counts `json:"telemetry"`
	Warnings  []string         `json:"warnings"`
	Error     string           `json:"error"`
}

// ConsumerResult is what a consumer saw.
type ConsumerResult struct {
	Algorithm       string             `json:"algorithm"`
	IgnoreMarks     bool               `json:"ignore_marks"`
	GoodputBPS      float64            `json:"goodput_bps"`
	RTTMS           RTT                `json:"rtt_ms"`
	Retransmissions uint64             `json:"retransmissions"`
	Timeouts        uint64             `json:"timeouts"`
	Nacks           uint64             `json:"nacks"`
	Marks           uint64             `json:"marks"`
	CwndCuts        uint64             `json:"cwnd_cuts"`
	MaxCwnd         float64            `json:"max_cwnd"`
	Duplicates      uint64             `json:"duplicates"`
	Refused         uint64             `json:"refused"`
	Unchecked       uint64             `json:"unchecked"`
	Figures         map[string]float64 `json:"figures"`
}

// RTT is of the segments that were requested once.
type RTT struct {
	Mean   float64 `json:"mean"`
	Median float64 `json:"median"`
	P95    float64 `json:"p95"`
	Max    float64 `json:"max"`
}

// ForwarderResult is what a forwarder did.
type ForwarderResult struct {
	forwarder.Stats
	Marking MarkingResult `json:"marking"`
}

// MarkingResult is how a node's faces marked.
type MarkingResult struct {
	Mode            string  `json:"mode"`
	ThresholdBytes  int     `json:"threshold_bytes,omitempty"`
	TCPQueuePackets int     `json:"tcp_queue_packets,omitempty"`
	IntervalMS      float64 `json:"interval_ms,omitempty"`
}

// ProducerResult counts a producer's requests.
type ProducerResult struct {
	ObjectBytes int64  `json:"object_bytes"`
	Interests   uint64 `json:"interests"`
	Answered    uint64 `json:"answered"`
	Unknown     uint64 `json:"unknown"` // Interests for other names
}

// FaceResult is one face's counts.
type FaceResult struct {
	Name                string `json:"name"`
	Transport           string `json:"transport"`
	InInterests         uint64 `json:"in_interests"`
	OutInterests        uint64 `json:"out_interests"`
	InData              uint64 `json:"in_data"`
	OutData             uint64 `json:"out_data"`
	InNacks             uint64 `json:"in_nacks"`
	OutNacks            uint64 `json:"out_nacks"`
	InBytes             uint64 `json:"in_bytes"`
	OutBytes            uint64 `json:"out_bytes"`
	InMarks             uint64 `json:"in_marks"`
	MarksSet            uint64 `json:"marks_set"`
	Drops               uint64 `json:"drops"`
	Errors              uint64 `json:"errors"`
	ReassemblyDrops     uint64 `json:"reassembly_drops"`
	BacklogMaxBytes     int    `json:"backlog_max_bytes"`
	SendQueueMaxPackets int    `json:"send_queue_max_packets"`
}

func faceResults(states []faces.State) []FaceResult {
	results := make([]FaceResult, len(states))
	for i, s := range states {
		results[i] = faceResult(s.Name, s.Transport, s.Counters)
	}
	return results
}

func faceResult(name, transport string, c faces.Counters) FaceResult {
	return FaceResult{
		Name: name, Transport: transport,
		InInterests: c.InInterests, OutInterests: c.OutInterests, InData: c.InData, OutData: c.OutData,
		InNacks: c.InNacks, OutNacks: c.OutNacks, InBytes: c.InBytes, OutBytes: c.OutBytes,
		InMarks: c.InMarks, MarksSet: c.MarksSet, Drops: c.Drops, Errors: c.Errors,
		ReassemblyDrops: c.ReassemblyDrops, BacklogMaxBytes: c.BacklogMax, SendQueueMaxPackets: c.SendQueueMax,
	}
}

// finish notes when the node worked.
func (r *Result) finish(started, finished time.Time) {
	r.StartedUnixNS, r.FinishedUnixNS = timing.Of(started), timing.Of(finished)
	r.DurationS = finished.Sub(started).Seconds()
}

// addFetch notes what a consumer fetched; finish comes first.
func (r *Result) addFetch(c fetch.Config, s fetch.Stats, rtts []time.Duration) {
	r.Bytes, r.Segments = int64(s.Bytes), s.Segments
	f := &ConsumerResult{
		Algorithm: c.Algorithm, IgnoreMarks: c.IgnoreMarks, RTTMS: summarize(rtts),
		Retransmissions: s.Retransmissions, Timeouts: s.Timeouts, Nacks: s.Nacks, Marks: s.Marks, CwndCuts: s.Cuts,
		MaxCwnd: s.MaxCwnd, Duplicates: s.Duplicates, Refused: s.Refused, Unchecked: s.Unchecked,
	}
	if r.DurationS > 0 {
		f.GoodputBPS = float64(s.Bytes) * 8 / r.DurationS
	}
	f.Figures = map[string]float64{
		"goodput_mbps": f.GoodputBPS / 1e6, "rtt_ms": f.RTTMS.Median, "rtt_mean_ms": f.RTTMS.Mean, "rtt_p95_ms": f.RTTMS.P95,
		"retransmissions": float64(s.Retransmissions), "marks": float64(s.Marks), "completion_ms": r.DurationS * 1000,
		"marked_share": float64(s.Marks) / math.Max(1, float64(s.Segments)),
	}
	r.ConsumerResult = f
}

func summarize(rtts []time.Duration) RTT {
	if len(rtts) == 0 {
		return RTT{}
	}
	sorted := slices.Sorted(slices.Values(rtts))
	var sum time.Duration
	for _, rtt := range sorted {
		sum += rtt
	}
	at := func(share float64) float64 { return inMilliseconds(quantile.Of(sorted, share)) }
	return RTT{Mean: inMilliseconds(sum) / float64(len(sorted)), Median: at(0.5), P95: at(0.95), Max: at(1)}
}

func inMilliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func markingResult(c marking.Config) MarkingResult {
	return MarkingResult{c.Mode, c.ThresholdBytes, c.QueuePackets, inMilliseconds(c.Interval)}
}
