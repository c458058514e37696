package agent

import (
	"fmt"
	"io"
	"sync"
	"time"

	"ncp-testbed/ncp-agent/drive"
	"ncp-testbed/ncp-agent/plan"
	"ncp-testbed/ncp-agent/record"
	"ncp-testbed/ncp-agent/session"
	"ncp-testbed/telemetry"
)

// sampler records a session at whole steps of the wall clock from the
// handshake on.
type sampler struct {
	driver   *drive.Driver
	spool    *telemetry.Spool
	interval time.Duration
	log      io.Writer
	failed   sync.Once

	mu       sync.Mutex // events come from the transfer's goroutine
	recorder *record.Recorder
	stats    session.Stats

	stop, done chan struct{}
}

func newSampler(p *plan.Plan, role string, d *drive.Driver, spool *telemetry.Spool, log io.Writer) *sampler {
	names := record.Names{Run: p.Run, Scenario: p.Scenario, Session: p.Session.Name, Policy: p.Session.Policy}
	return &sampler{
		driver: d, spool: spool, interval: p.Telemetry.Interval(), log: log,
		recorder: record.NewRecorder(names, role, len(p.Session.Connections)),
		stop:     make(chan struct{}), done: make(chan struct{}),
	}
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

func (s *sampler) event(kind string, at time.Time, sinceStart time.Duration, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recorder.Event(kind, at, sinceStart, text)
	s.append()
}

func (s *sampler) sample() {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := time.Now()
	s.driver.Stats(&s.stats)
	s.recorder.Sample(at, s.driver.Start().Add(s.stats.EstablishedAt), &s.stats)
	s.append()
}

// maxReorderBytes is the most that waited behind a gap; the sampler is closed.
func (s *sampler) maxReorderBytes() uint64 { return s.recorder.MaxReorderBytes }

// append writes what is recorded. It tells of the first failure only: a full
// disk would fill the log too.
func (s *sampler) append() {
	if err := s.spool.Append(&s.recorder.Points); err != nil {
		s.failed.Do(func() { fmt.Fprintln(s.log, "ncp-agent:", err) })
	}
}
