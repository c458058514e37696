package agent

import (
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"ncp-testbed/ncp-agent/drive"
	"ncp-testbed/ncp-agent/plan"
	"ncp-testbed/ncp-agent/session"
	"ncp-testbed/telemetry"
)

// sampler writes a session's numbers as points (docs/contracts.md), at whole
// steps of the wall clock from the handshake on.
type sampler struct {
	driver   *drive.Driver
	spool    *telemetry.Spool
	points   telemetry.Points
	interval time.Duration
	log      io.Writer
	failed   sync.Once

	sender          bool
	sessionTags     telemetry.Tags
	connectionTags  []telemetry.Tags
	eventTags       func(kind string) telemetry.Tags
	history         []snapshot // of the last second and one before, oldest first
	now             snapshot
	maxReorderBytes uint64

	stop, done chan struct{}
}

// snapshot is the session at a moment.
type snapshot struct {
	at    time.Time
	stats session.Stats
}

func newSampler(p *plan.Plan, role string, d *drive.Driver, spool *telemetry.Spool, log io.Writer) *sampler {
	tags := func(more ...string) telemetry.Tags {
		m := map[string]string{"run": p.Run, "scenario": p.Scenario, "session": p.Session.Name}
		for i := 0; i < len(more); i += 2 {
			m[more[i]] = more[i+1]
		}
		return telemetry.MakeTags(m)
	}
	s := &sampler{
		driver: d, spool: spool, interval: p.Telemetry.Interval(), log: log, sender: role == Sender,
		sessionTags: tags("role", role, "policy", p.Session.Policy),
		eventTags:   func(kind string) telemetry.Tags { return tags("kind", kind) },
		stop:        make(chan struct{}), done: make(chan struct{}),
	}
	for i := range p.Session.Connections {
		s.connectionTags = append(s.connectionTags, tags("role", role, "policy", p.Session.Policy, "connection", strconv.Itoa(i+1)))
	}
	return s
}

// run samples until close is called, then once more.
func (s *sampler) run() {
	defer close(s.done)
	select {
	case <-s.driver.Established():
	case <-s.stop:
		return
	}
	for {
		now := time.Now()
		next := now.Truncate(s.interval).Add(s.interval)
		select {
		case <-time.After(next.Sub(now)):
			s.sample()
		case <-s.stop:
			s.sample()
			return
		}
	}
}

// close takes a last sample and waits for it.
func (s *sampler) close() {
	close(s.stop)
	<-s.done
}

// event writes a point of something that happened, atS seconds after the
// session was established.
func (s *sampler) event(kind string, at time.Time, sinceStart time.Duration, text string) {
	var p telemetry.Points
	p.Add("event", s.eventTags(kind), at, telemetry.Float("at_s", sinceStart.Seconds()), telemetry.Text("text", text))
	s.append(&p)
}

// append tells of the first failure only: a full disk would fill the log too.
func (s *sampler) append(p *telemetry.Points) {
	if err := s.spool.Append(p); err != nil {
		s.failed.Do(func() { fmt.Fprintln(s.log, "ncp-agent:", err) })
	}
}

// sample takes one snapshot and writes its points.
func (s *sampler) sample() {
	s.now.at = time.Now()
	s.driver.Stats(&s.now.stats)
	s.maxReorderBytes = max(s.maxReorderBytes, s.now.stats.ReorderBytes)
	before := s.secondAgo()
	seconds := s.now.at.Sub(before.at).Seconds()
	s.addConnections(before, seconds)
	s.addSession(before, seconds)
	s.append(&s.points)
	s.remember()
}

// secondAgo gives the youngest snapshot that is a second old, or else the
// beginning: an established session that has done nothing yet.
func (s *sampler) secondAgo() *snapshot {
	for len(s.history) > 1 && s.now.at.Sub(s.history[1].at) >= time.Second {
		s.history = s.history[1:]
	}
	if len(s.history) == 0 || s.now.at.Sub(s.history[0].at) < time.Second {
		established := s.driver.Start().Add(s.now.stats.EstablishedAt)
		return &snapshot{established, session.Stats{Connections: make([]session.ConnectionStats, len(s.connectionTags))}}
	}
	return &s.history[0]
}

func (s *sampler) remember() {
	kept := snapshot{at: s.now.at, stats: s.now.stats}
	kept.stats.Connections = append([]session.ConnectionStats(nil), s.now.stats.Connections...)
	s.history = append(s.history, kept)
}

// delivered counts the packets that a connection brought across: as the sender
// knows by acknowledgements, as the receiver by arrivals.
func (s *sampler) delivered(c session.ConnectionStats) uint64 {
	if s.sender {
		return c.Acked
	}
	return c.Delivered
}

func (s *sampler) addConnections(before *snapshot, seconds float64) {
	var windows float64
	var all uint64
	for i, c := range s.now.stats.Connections {
		windows += c.WindowPackets
		all += s.delivered(c) - s.delivered(before.stats.Connections[i])
	}
	for i, c := range s.now.stats.Connections {
		delivered := s.delivered(c) - s.delivered(before.stats.Connections[i])
		// 0/0 is NaN, and such a field is left out.
		fields := []telemetry.Field{
			telemetry.Float("delivered_pps", float64(delivered)/seconds),
			telemetry.Float("delivered_share", float64(delivered)/float64(all)),
		}
		if s.sender {
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
		s.points.Add("ncp_connection", s.connectionTags[i], s.now.at, fields...)
	}
}

func (s *sampler) addSession(before *snapshot, seconds float64) {
	bytes, earlier := s.now.stats.ReadBytes, before.stats.ReadBytes
	if s.sender {
		bytes, earlier = s.now.stats.AckedBytes, before.stats.AckedBytes
	}
	fields := []telemetry.Field{
		telemetry.Float("goodput_bps", float64(bytes-earlier)*8/seconds),
		telemetry.Int("bytes", bytes),
	}
	if s.sender {
		fields = append(fields, telemetry.Int("send_window_used", s.now.stats.SendWindowUsed))
	} else {
		fields = append(fields, telemetry.Int("reorder_bytes", s.now.stats.ReorderBytes))
	}
	s.points.Add("ncp_session", s.sessionTags, s.now.at, fields...)
}
