package agent

import (
	"encoding/hex"
	"encoding/json"
	"hash"
	"os"
	"path/filepath"
	"time"

	"ncp-testbed/ncp-agent/session"
	"ncp-testbed/telemetry"
)

// Result is what an agent leaves in result.json. Durations and rates are 0 if
// the transfer did not come to its end.
type Result struct {
	Role            string             `json:"role"`
	Session         string             `json:"session"`
	Policy          string             `json:"policy"`
	Bytes           int64              `json:"bytes"`  // sent and acknowledged, or received
	SHA256          string             `json:"sha256"` // of these bytes; a sender's of the whole stream
	StartedUnixNS   int64              `json:"started_unix_ns"`
	FinishedUnixNS  int64              `json:"finished_unix_ns"`
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

func connectionResults(stats *session.Stats, links []string) []ConnectionResult {
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

// finish notes the transfer's end.
func (r *Result) finish(started, finished time.Time, bytes int64, sum hash.Hash) {
	r.StartedUnixNS, r.FinishedUnixNS = started.UnixNano(), finished.UnixNano()
	r.Bytes = bytes
	r.SHA256 = hex.EncodeToString(sum.Sum(nil))
	if d := finished.Sub(started).Seconds(); d > 0 {
		r.DurationS = d
		r.GoodputBPS = float64(bytes) * 8 / d
	}
}

// write puts the result into dir, whole or not at all.
func (r *Result) write(dir string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	temporary := filepath.Join(dir, "result.json.new")
	if err := os.WriteFile(temporary, append(text, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(temporary, filepath.Join(dir, "result.json"))
}
