// Package simrun runs a plan in virtual time and leaves what the agents, the
// links and the timeline of an emulated run leave (docs/contracts.md):
// telemetry.lp, agents/*.json, events.csv. The same plan gives the same bytes.
package simrun

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"ncp-testbed/internal/atomicfile"
	"ncp-testbed/internal/payload"
	"ncp-testbed/internal/plan"
	"ncp-testbed/internal/rusage"
	"ncp-testbed/internal/timing"
	"ncp-testbed/ncp-agent/config"
	"ncp-testbed/ncp-agent/metrics"
	"ncp-testbed/ncp-agent/session"
	"ncp-testbed/ncp-agent/sim"
)

// Facts tell how a simulation went (sim.json).
type Facts struct {
	VirtualS  float64 `json:"virtual_s"`
	CPUS      float64 `json:"cpu_s"`
	PeakBytes int64   `json:"peak_bytes"` // resident memory of the process
	Packets   uint64  `json:"packets"`    // handed to links
	Points    int     `json:"points"`
}

// simulation is a plan that is being run.
type simulation struct {
	plan    *plan.Plan
	plans   []*config.Plan // for each of its sessions
	run     sim.Run
	streams []*payload.Stream
	sums    []*payload.Received
}

// Run reads the plan and leaves the results in dir. An error is one of the
// plan, of a file, or a transfer that did not come to its end.
func Run(file, dir string) (*Facts, error) { return run(file, dir, true) }

// RunZeros is Run with a payload of zeros, which is neither drawn nor hashed:
// what the simulation alone costs. The telemetry is the same.
func RunZeros(file, dir string) (*Facts, error) { return run(file, dir, false) }

func run(file, dir string, payload bool) (*Facts, error) {
	s, err := read(file)
	if err != nil {
		return nil, err
	}
	if !payload {
		for i := range s.run.Transfers {
			s.run.Transfers[i].Source, s.run.Transfers[i].Sink = nil, nil
		}
	}
	var names []string
	for _, l := range s.run.Links {
		names = append(names, l.Name)
	}
	r, err := newRecording(dir, s.plans, names)
	if err != nil {
		return nil, err
	}
	defer r.file.Close() // where nothing comes of it
	s.run.Observer = sim.Observer{Established: s.tell(r), Sample: r.sample, Links: r.links, Event: r.happened}
	traces, err := s.trace(dir)
	defer traces.close() // likewise
	if err != nil {
		return nil, err
	}
	begun := rusage.CPU()
	result, err := sim.Simulate(s.run)
	if err != nil {
		return nil, err
	}
	facts := &Facts{
		VirtualS: result.EndedAt.Seconds(), CPUS: (rusage.CPU() - begun).Seconds(), PeakBytes: rusage.PeakBytes(),
	}
	for _, l := range result.Links {
		facts.Packets += l.AB.In + l.BA.In
	}
	unfinished := s.finish(result, r, dir)
	if err := errors.Join(r.close(dir), traces.close()); err != nil {
		return nil, err
	}
	facts.Points = r.count
	if err := atomicfile.Write(filepath.Join(dir, "sim.json"), facts); err != nil {
		return nil, err
	}
	return facts, unfinished
}

func read(file string) (*simulation, error) {
	p, err := plan.Read(file)
	if err != nil {
		return nil, err
	}
	if len(p.Sessions) == 0 {
		return nil, fmt.Errorf("%s: sessions: none, want at least one", file)
	}
	s := &simulation{plan: p}
	if s.plans, err = config.Sessions(p); err != nil {
		return nil, err
	}
	s.run.Transfers = transfers(s.plans)
	for i := range p.Sessions {
		stream, sum := payload.New(p.Seed, p.Sessions[i].Name, p.Sessions[i].TransferBytes), payload.NewReceived()
		s.streams, s.sums = append(s.streams, stream), append(s.sums, sum)
		s.run.Transfers[i].Source = stream.Next
		s.run.Transfers[i].Sink = func(part []byte) { sum.Write(part) }
	}
	s.run.Links = links(p, s.run.Transfers)
	if s.run.Events, err = events(p); err != nil {
		return nil, err
	}
	s.run.Seed, s.run.FrameBytes = p.Seed, overhead(s.plans)
	s.run.SampleInterval, s.run.Until = p.Telemetry.Interval(), timing.Seconds(p.Limits.TransferS)
	return s, nil
}

// tell records that a transfer has started; the timeline counts from the first.
func (s *simulation) tell(r *recording) func(time.Duration, int) {
	return func(now time.Duration, transfer int) {
		if transfer == 0 {
			r.started = now
		}
		p := &s.plans[transfer].Session
		r.milestone(transfer, 0, "transfer_start", now, now, fmt.Sprintf("%d bytes, policy %s", p.TransferBytes, p.Policy))
	}
}

// finish writes what each end left, and tells of a transfer that has no end.
func (s *simulation) finish(result *sim.Result, r *recording, dir string) (unfinished error) {
	if err := os.MkdirAll(filepath.Join(dir, "agents"), 0o755); err != nil {
		return err
	}
	for i, p := range s.plans {
		t := &result.Transfers[i]
		started := t.Sender.EstablishedAt
		if t.ReceivedAt > 0 {
			r.milestone(i, 1, "receive_end", t.ReceivedAt, t.Receiver.EstablishedAt, "all data is received")
		}
		if t.AckedAt > 0 {
			r.milestone(i, 0, "transfer_end", t.AckedAt, started, "all data is acknowledged")
		} else if unfinished == nil {
			unfinished = fmt.Errorf("session %s: %d of %d bytes arrived within %.1f s, the time that the plan allows",
				p.Session.Name, t.Received, p.Session.TransferBytes, result.EndedAt.Seconds())
		}
		sent := &metrics.Result{Role: metrics.Sender, SHA256: s.streams[i].SHA256()}
		fill(sent, p, started, t.AckedAt, int64(t.Sender.AckedBytes), &t.Sender, r.ends[i][0])
		received := &metrics.Result{Role: metrics.Receiver, SHA256: hex.EncodeToString(s.sums[i].Sum(nil))}
		received.CRC32 = s.sums[i].CRC32()
		fill(received, p, t.Receiver.EstablishedAt, t.ReceivedAt, t.Received, &t.Receiver, r.ends[i][1])
		for _, end := range []*metrics.Result{sent, received} {
			name := fmt.Sprintf("%s-%s.json", p.Session.Name, end.Role)
			if err := end.Write(filepath.Join(dir, "agents", name)); err != nil {
				return err
			}
		}
	}
	return unfinished
}

func fill(e *metrics.Result, p *config.Plan, started, finished time.Duration, bytes int64, stats *session.Stats, r *metrics.Recorder) {
	var links []string
	for _, c := range p.Session.Connections {
		links = append(links, c.Link)
	}
	e.Session, e.Policy, e.Warnings = p.Session.Name, p.Session.Policy, []string{}
	e.Finish(epoch.Add(started), epoch.Add(finished), bytes, e.SHA256)
	e.MaxReorderBytes = r.MaxReorderBytes
	e.Connections = metrics.ConnectionResults(stats, links)
}
