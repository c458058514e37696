package relay

import (
	"fmt"
	"sync"
	"time"

	"ncp-testbed/internal/linkmodel"
	"ncp-testbed/internal/telemetry"
	"ncp-testbed/internal/timing"
)

// Meter samples a relay, writes the samples as telemetry and adds up what the result reports.
type Meter struct {
	relay         *Relay
	run, scenario string
	spool         *telemetry.Spool

	mu       sync.Mutex
	at       timing.Unix
	last     []Sample    // without lateness
	lateness []histogram // of the whole run
	failed   error
}

// NewMeter samples a relay of a run into a spool.
func NewMeter(r *Relay, run, scenario string, spool *telemetry.Spool) *Meter {
	return &Meter{
		relay: r, run: run, scenario: scenario, spool: spool,
		last: make([]Sample, len(r.samples)), lateness: make([]histogram, len(r.samples)),
	}
}

// Run samples until the relay ends, and once more after that. It returns the first failure to write.
func (m *Meter) Run(interval time.Duration) error {
	telemetry.AtSteps(interval, m.relay.loop.stopped, m.sample)
	return m.failed
}

func (m *Meter) sample() {
	m.mu.Lock()
	defer m.mu.Unlock()
	// Read first, so that it is never ahead of what the loop knows to have been refused.
	dropped, err := m.relay.backlog.drops()
	if err != nil && m.failed == nil {
		m.failed = err
	}
	var at timing.Unix
	if !m.relay.loop.do(func() { at = m.relay.sample() }) {
		at = m.relay.sample()
	}
	var points telemetry.Points
	for i := range m.relay.samples {
		s := &m.relay.samples[i]
		if _, there := dropped[s.towards]; !there && err == nil {
			m.relay.fail(fmt.Errorf("link %s: interface %s is gone", s.Link, s.towards))
		}
		if drops := dropped[s.towards]; drops > s.Down {
			s.Faults.Backlog = drops - s.Down
		}
		if m.at != 0 {
			addPoint(&points, m.run, m.scenario, s, &m.last[i], at, m.at)
		}
		m.lateness[i].merge(s.Lateness)
		s.Lateness.reset()
		m.last[i] = *s
		m.last[i].Lateness = nil
	}
	m.at = at
	if err := m.spool.Append(&points); err != nil && m.failed == nil {
		m.failed = err
	}
}

// LinkResult is what became of one direction's frames.
type LinkResult struct {
	Link       string               `json:"link"`
	Direction  linkmodel.Direction  `json:"direction"`
	Properties linkmodel.Properties `json:"properties"` // at the end
	Frames     uint64               `json:"frames"`     // arrived
	Bytes      uint64               `json:"bytes"`
	Sent       uint64               `json:"sent"`
	SentBytes  uint64               `json:"sent_bytes"`
	Lost       uint64               `json:"lost"` // by the configured loss
	QueueDrops uint64               `json:"queue_drops"`
	Duplicated uint64               `json:"duplicated"`
	Corrupted  uint64               `json:"corrupted"`
	Overtook   uint64               `json:"overtook"`
	Held       int                  `json:"held"`
	Down       uint64               `json:"unplugged"` // dropped because an interface towards the host was down
	Faults     Faults               `json:"unasked_drops"`
	Checksums  uint64               `json:"checksums_completed"`
	LatenessUS Lateness             `json:"lateness_us"`
}

// Lateness is by how much frames left after they were due, in microseconds.
type Lateness struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// Results are the totals at the last sample.
func (m *Meter) Results() []LinkResult {
	m.mu.Lock()
	defer m.mu.Unlock()
	results := make([]LinkResult, 0, len(m.last))
	for i := range m.last {
		s, h := &m.last[i], &m.lateness[i]
		results = append(results, LinkResult{
			Link: s.Link, Direction: s.Direction, Properties: s.Properties,
			Frames: s.Counts.In, Bytes: s.Counts.InBytes, Sent: s.Sent, SentBytes: s.SentBytes,
			Lost: s.Counts.Lost, QueueDrops: s.Counts.QueueFull + s.Counts.QueueDelayed,
			Duplicated: s.Counts.Duplicated, Corrupted: s.Counts.Corrupted, Overtook: s.Counts.Overtook,
			Held: s.HeldFrames, Down: s.Down, Faults: s.Faults, Checksums: s.Checksums,
			LatenessUS: Lateness{us(h.quantile(0.5)), us(h.quantile(0.99)), us(h.max)},
		})
	}
	return results
}

func us(d time.Duration) float64 { return float64(d) / 1e3 }
