package agent

import (
	"math"
	"sync"
	"time"

	"ncp-testbed/internal/telemetry"
	"ncp-testbed/internal/telemetry/push"
	"ncp-testbed/ndn-agent/config"
	"ncp-testbed/ndn-agent/faces"
)

// sampler records a node at whole steps of the wall clock.
type sampler struct {
	plan   *config.Plan
	engine *faces.Engine
	node   node
	output *push.Output

	mu     sync.Mutex // events come from another goroutine
	points telemetry.Points
	tags   map[string]telemetry.Tags // by face
	bytes  telemetry.LastSecond[uint64]

	stop, done chan struct{}
}

func newSampler(p *config.Plan, e *faces.Engine, n node, output *push.Output) *sampler {
	return &sampler{
		plan: p, engine: e, node: n, output: output, tags: map[string]telemetry.Tags{},
		stop: make(chan struct{}), done: make(chan struct{}),
	}
}

// run samples until close is called, then once more.
func (s *sampler) run() {
	defer close(s.done)
	telemetry.AtSteps(s.plan.Telemetry.Interval(), s.stop, s.sample)
}

// close takes a last sample and waits for it.
func (s *sampler) close() {
	close(s.stop)
	<-s.done
}

func (s *sampler) event(kind string, at time.Time, sinceStart time.Duration, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tags := telemetry.MakeTags(map[string]string{"run": s.plan.Run, "scenario": s.plan.Scenario, "session": s.plan.Session, "kind": kind})
	s.points.Add("event", tags, at, telemetry.Float("at_s", sinceStart.Seconds()), telemetry.Text("text", text))
	s.output.Append(&s.points)
}

func (s *sampler) sample() {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := time.Now()
	if c, ok := s.node.(*consumer); ok {
		s.sampleConsumer(at, c)
	} else {
		for _, state := range s.engine.States() {
			s.sampleFace(at, state)
		}
	}
	s.output.Append(&s.points)
}

func (s *sampler) tagsOf(face string) telemetry.Tags {
	if tags, ok := s.tags[face]; ok {
		return tags
	}
	tags := telemetry.MakeTags(map[string]string{
		"run": s.plan.Run, "scenario": s.plan.Scenario, "session": s.plan.Session, "node": s.plan.Node.Host, "role": s.plan.Node.Role, "face": face,
	})
	s.tags[face] = tags
	return tags
}

func (s *sampler) sampleConsumer(at time.Time, c *consumer) {
	var fields []telemetry.Field
	s.engine.Do(func(now time.Duration) {
		if c.started == 0 {
			return
		}
		stats := c.fetcher.Stats()
		if c.rttCount > 0 {
			fields = append(fields,
				telemetry.Float("rtt_ms", inMilliseconds(c.rttSum)/float64(c.rttCount)), telemetry.Float("rtt_max_ms", inMilliseconds(c.rttMax)))
		}
		c.rttSum, c.rttMax, c.rttCount = 0, 0, 0
		if c.finished == 0 {
			fields = append(fields, telemetry.Float("goodput_bps", s.goodput(c.started, now, stats.Bytes)))
		}
		fields = append(fields,
			telemetry.Float("rto_ms", inMilliseconds(stats.RTO)), telemetry.Float("cwnd", stats.Cwnd),
			telemetry.Int("in_flight", stats.InFlight), telemetry.Int("segments", stats.Segments), telemetry.Int("bytes", stats.Bytes),
			telemetry.Int("marks", stats.Marks), telemetry.Int("retransmissions", stats.Retransmissions),
			telemetry.Int("timeouts", stats.Timeouts), telemetry.Int("cwnd_cuts", stats.Cuts),
		)
		if !math.IsInf(stats.Threshold, 0) {
			fields = append(fields, telemetry.Float("ssthresh", stats.Threshold))
		}
	})
	if fields != nil {
		s.points.Add("ndn", s.tagsOf(s.plan.Faces[0].Name), at, fields...)
	}
}

// goodput is that of the last second, or since the start.
func (s *sampler) goodput(started, now time.Duration, bytes uint64) float64 {
	now -= started
	before, then := s.bytes.Before(now)
	s.bytes.Add(now, bytes)
	return float64(bytes-before) * 8 / (now - then).Seconds()
}

func (s *sampler) sampleFace(at time.Time, f faces.State) {
	fields := []telemetry.Field{
		telemetry.Int("backlog_bytes", f.Queue.Bytes()), telemetry.Int("backlog_max_bytes", f.BacklogMax),
		telemetry.Int("send_queue_packets", f.Queue.OwnPackets), telemetry.Int("send_queue_bytes", f.Queue.OwnBytes),
		telemetry.Int("in_interests", f.Counters.InInterests), telemetry.Int("out_interests", f.Counters.OutInterests),
		telemetry.Int("in_data", f.Counters.InData), telemetry.Int("out_data", f.Counters.OutData),
		telemetry.Int("marks_set", f.Counters.MarksSet), telemetry.Int("drops", f.Counters.Drops),
	}
	if f.Transport == faces.TCP {
		fields = append(fields, telemetry.Int("unsent_bytes", f.Queue.UnsentBytes))
	}
	s.points.Add("ndn", s.tagsOf(f.Name), at, fields...)
}
