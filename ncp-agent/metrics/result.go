package metrics

import (
	"time"

	"ncp-testbed/internal/atomicfile"
	"ncp-testbed/internal/telemetry"
	"ncp-testbed/internal/timing"
	"ncp-testbed/ncp-agent/session"
)

// Result is what an agent leaves in result.json. Durations and rates are 0 if
// the transfer did not come to its end.
type Result struct {
	Role            string             `json:"role"`
	Session         string             `json:"session"`
	Policy          string             `json:"policy"`
	Bytes           int64              `json:"bytes"`           // sent and acknowledged, or received
	SHA256          string             `json:"sha256"`          // of these bytes; a sender's of the whole stream
	CRC32           *uint32            `json:"crc32,omitempty"` // of what was received; a sender has none
	StartedUnixNS   timing.Unix        `json:"started_unix_ns"`
	FinishedUnixNS  timing.Unix        `json:"finished_unix_ns"`
	DurationS       float64            `json:"duration_s"`
	GoodputBPS      float64            `json:"goodput_bps"`
	MaxReorderBytes uint64             `json:"max_reorder_bytes"` // as sampled
	Connections     []ConnectionResult `json:"connections"`
	Telemetry       telemetry.Counts   `json:"telemetry"`
	Warnings        []string           `json:"warnings"`
	Error           string             `json:"error"`
}

// ConnectionResult is one connection at the end. Counts are of data packets.
type ConnectionResult struct {
	Index         int     `json:"index"` // from 1
	Link          string  `json:"link"`
	WindowPackets float64 `json:"window_packets"`
	InFlight      int     `json:"in_flight_packets"`
	Sent          uint64  `json:"sent"`
	Resent        uint64  `json:"resent"`
	Acked         uint64  `json:"acked"`
	Lost          uint64  `json:"lost"`
	Received      uint64  `json:"received"`
	Delivered     uint64  `json:"delivered"`
	RTTMS         float64 `json:"rtt_ms"`
	RTOMS         float64 `json:"rto_ms"`
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// ConnectionResults returns each connection at the end; links are their names.
func ConnectionResults(stats *session.Stats, links []string) []ConnectionResult {
	list := make([]ConnectionResult, len(stats.Connections))
	for i, c := range stats.Connections {
		list[i] = ConnectionResult{
			Index: i + 1, Link: links[i], WindowPackets: c.WindowPackets, InFlight: c.InFlightPackets,
			Sent: c.Sent, Resent: c.Resent, Acked: c.Acked, Lost: c.Lost,
			Received: c.Received, Delivered: c.Delivered,
			RTTMS: milliseconds(c.RTT), RTOMS: milliseconds(c.RTO),
		}
	}
	return list
}

// Finish notes the transfer's end, with the SHA-256 of its bytes in hexadecimal.
func (r *Result) Finish(started, finished time.Time, bytes int64, sha256 string) {
	r.StartedUnixNS, r.FinishedUnixNS = timing.Of(started), timing.Of(finished)
	r.Bytes = bytes
	r.SHA256 = sha256
	if d := finished.Sub(started).Seconds(); d > 0 {
		r.DurationS = d
		r.GoodputBPS = float64(bytes) * 8 / d
	}
}

// Write puts the result into a file, whole or not at all.
func (r *Result) Write(file string) error { return atomicfile.Write(file, r) }
