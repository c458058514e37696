// Package metrics writes down what one end of a session did: points of
// telemetry while it runs, and its result at the end (docs/contracts.md). It
// has no clock: a wall clock or a simulated one gives the times.
package metrics

import (
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
	history        telemetry.LastSecond[session.Stats]
	spare          []session.ConnectionStats // storage of the last one forgotten
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
	r.history.Forget = func(stats session.Stats) { r.spare = stats.Connections[:0] }
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
	now := at.Sub(established)
	before, then := r.history.Before(now)
	if before.Connections == nil {
		before.Connections = make([]session.ConnectionStats, len(r.connectionTags))
	}
	seconds := (now - then).Seconds()
	r.addConnections(at, stats, &before, seconds)
	r.addSession(at, stats, &before, seconds)
	remembered := *stats
	remembered.Connections, r.spare = append(r.spare, stats.Connections...), nil
	r.history.Add(now, remembered)
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

func (r *Recorder) addConnections(at time.Time, stats *session.Stats, before *session.Stats, seconds float64) {
	var windows float64
	var all uint64
	for i, c := range stats.Connections {
		windows += c.WindowPackets
		all += r.delivered(c) - r.delivered(before.Connections[i])
	}
	for i, c := range stats.Connections {
		delivered := r.delivered(c) - r.delivered(before.Connections[i])
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

func (r *Recorder) addSession(at time.Time, stats *session.Stats, before *session.Stats, seconds float64) {
	bytes, earlier := stats.ReadBytes, before.ReadBytes
	if r.sender {
		bytes, earlier = stats.AckedBytes, before.AckedBytes
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
