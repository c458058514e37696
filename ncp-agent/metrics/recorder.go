// Package metrics writes down what one end of a session did: points of
// telemetry while it runs, and its result at the end (docs/contracts.md). It
// has no clock: a wall clock or a simulated one gives the times.
package metrics

import (
	"slices"
	"strconv"
	"time"

	"ncp-testbed/internal/telemetry"
	"ncp-testbed/ncp-agent/session"
)

// The roles of an end.
const (
	Sender   = "sender"
	Receiver = "receiver"
)

// Names are the tags by which a session's points are found.
type Names struct {
	Run, Scenario, Session, Policy string
}

// Recorder turns the numbers of one end of a session into points.
type Recorder struct {
	// Points are the points made so far; whoever takes them writes them.
	Points telemetry.Points
	// MaxReorderBytes is the most that waited behind a gap, as sampled.
	MaxReorderBytes uint64

	sender         bool
	sessionTags    telemetry.Tags
	connectionTags []telemetry.Tags
	eventTags      func(kind string) telemetry.Tags
	history        []snapshot                // of the last second and one before, oldest first
	spare          []session.ConnectionStats // storage of the last one forgotten
}

// snapshot is the session at a moment.
type snapshot struct {
	at    time.Time
	stats session.Stats
}

// NewRecorder makes the recorder of a session's end with so many connections.
func NewRecorder(n Names, role string, connections int) *Recorder {
	tags := func(more ...string) telemetry.Tags {
		m := map[string]string{"run": n.Run, "scenario": n.Scenario, "session": n.Session}
		for i := 0; i < len(more); i += 2 {
			m[more[i]] = more[i+1]
		}
		return telemetry.MakeTags(m)
	}
	r := &Recorder{
		sender:      role == Sender,
		sessionTags: tags("role", role, "policy", n.Policy),
		eventTags:   func(kind string) telemetry.Tags { return tags("kind", kind) },
	}
	for i := range connections {
		r.connectionTags = append(r.connectionTags, tags("role", role, "policy", n.Policy, "connection", strconv.Itoa(i+1)))
	}
	return r
}

// Event adds a point of something that happened so long after the session was established.
func (r *Recorder) Event(kind string, at time.Time, sinceStart time.Duration, text string) {
	r.Points.Add("event", r.eventTags(kind), at, telemetry.Float("at_s", sinceStart.Seconds()), telemetry.Text("text", text))
}

// Sample adds the points of one moment. Established is when the handshake was
// done. Rates are over the last second, or since then.
func (r *Recorder) Sample(at, established time.Time, stats *session.Stats) {
	r.MaxReorderBytes = max(r.MaxReorderBytes, stats.ReorderBytes)
	before := r.secondBefore(at, established)
	seconds := at.Sub(before.at).Seconds()
	r.addConnections(at, stats, before, seconds)
	r.addSession(at, stats, before, seconds)
	kept := snapshot{at: at, stats: *stats}
	kept.stats.Connections, r.spare = append(r.spare, stats.Connections...), nil
	r.history = append(r.history, kept)
}

// secondBefore returns the youngest snapshot that is a second old, or else the
// beginning: an established session that has done nothing yet.
func (r *Recorder) secondBefore(at, established time.Time) *snapshot {
	for len(r.history) > 1 && at.Sub(r.history[1].at) >= time.Second {
		r.spare = r.history[0].stats.Connections[:0]
		r.history = slices.Delete(r.history, 0, 1)
	}
	if len(r.history) == 0 || at.Sub(r.history[0].at) < time.Second {
		return &snapshot{established, session.Stats{Connections: make([]session.ConnectionStats, len(r.connectionTags))}}
	}
	return &r.history[0]
}

// delivered counts the packets that a connection brought across: as the sender
// knows by acknowledgements, as the receiver by arrivals.
func (r *Recorder) delivered(c session.ConnectionStats) uint64 {
	if r.sender {
		return c.Acked
	}
	return c.Delivered
}

// mostFields is room for those of any point: without growing, they need no heap.
const mostFields = 12

func (r *Recorder) addConnections(at time.Time, stats *session.Stats, before *snapshot, seconds float64) {
	var windows float64
	var all uint64
	for i, c := range stats.Connections {
		windows += c.WindowPackets
		all += r.delivered(c) - r.delivered(before.stats.Connections[i])
	}
	for i, c := range stats.Connections {
		delivered := r.delivered(c) - r.delivered(before.stats.Connections[i])
		// 0/0 is NaN, and such a field is left out.
		fields := append(make([]telemetry.Field, 0, mostFields),
			telemetry.Float("delivered_pps", float64(delivered)/seconds),
			telemetry.Float("delivered_share", float64(delivered)/float64(all)),
		)
		if r.sender {
			fields = append(fields,
				telemetry.Float("window_packets", c.WindowPackets),
				telemetry.Float("window_share", c.WindowPackets/windows),
				telemetry.Int("in_flight_packets", c.InFlightPackets),
				telemetry.Float("rto_ms", milliseconds(c.RTO)),
				telemetry.Int("sent", c.Sent), telemetry.Int("resent", c.Resent),
				telemetry.Int("acked", c.Acked), telemetry.Int("lost", c.Lost),
			)
			if c.RTT > 0 {
				fields = append(fields, telemetry.Float("rtt_ms", milliseconds(c.RTT)))
			}
		}
		r.Points.Add("ncp_connection", r.connectionTags[i], at, fields...)
	}
}

func (r *Recorder) addSession(at time.Time, stats *session.Stats, before *snapshot, seconds float64) {
	bytes, earlier := stats.ReadBytes, before.stats.ReadBytes
	if r.sender {
		bytes, earlier = stats.AckedBytes, before.stats.AckedBytes
	}
	fields := append(make([]telemetry.Field, 0, mostFields),
		telemetry.Float("goodput_bps", float64(bytes-earlier)*8/seconds),
		telemetry.Int("bytes", bytes),
	)
	if r.sender {
		fields = append(fields, telemetry.Int("send_window_used", stats.SendWindowUsed))
	} else {
		fields = append(fields, telemetry.Int("reorder_bytes", stats.ReorderBytes))
	}
	r.Points.Add("ncp_session", r.sessionTags, at, fields...)
}
