package agent

import (
	"sync"
	"time"

	"ncp-testbed/internal/telemetry"
	"ncp-testbed/internal/telemetry/push"
	"ncp-testbed/ncp-agent/config"
	"ncp-testbed/ncp-agent/endpoint"
	"ncp-testbed/ncp-agent/metrics"
	"ncp-testbed/ncp-agent/session"
)

// sampler records a session at whole steps of the wall clock from the
// handshake on.
type sampler struct {
	driver   *endpoint.Driver
	output   *push.Output
	interval time.Duration

	mu       sync.Mutex // events come from the transfer's goroutine
	recorder *metrics.Recorder
	stats    session.Stats

	stop, done chan struct{}
}

func newSampler(p *config.Plan, role string, d *endpoint.Driver, output *push.Output) *sampler {
	names := metrics.Names{Run: p.Run, Scenario: p.Scenario, Session: p.Session.Name, Policy: p.Session.Policy}
	return &sampler{
		driver: d, output: output, interval: p.Telemetry.Interval(),
		recorder: metrics.NewRecorder(names, role, len(p.Session.Connections)),
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
	telemetry.AtSteps(s.interval, s.stop, s.sample)
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
	s.output.Append(&s.recorder.Points)
}

func (s *sampler) sample() {
	s.mu.Lock()
	defer s.mu.Unlock()
	// By the clock that the rates are over: a host's wall clock may be slewed by
	// a millisecond in a second, and the rates would be over other samples.
	at := s.driver.Start().Add(time.Since(s.driver.Start()))
	s.driver.Stats(&s.stats)
	s.recorder.Sample(at, s.driver.Start().Add(s.stats.EstablishedAt), &s.stats)
	s.output.Append(&s.recorder.Points)
}

// maxReorderBytes is the most that waited behind a gap; the sampler is closed.
func (s *sampler) maxReorderBytes() uint64 { return s.recorder.MaxReorderBytes }
