package simrun

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"ncp-testbed/ncp-agent/metrics"
	"ncp-testbed/ncp-agent/qlog"
	"ncp-testbed/ncp-agent/session"
)

// traces are what the plan wants kept packet by packet, in files of the folder
// traces; the telemetry is the same without them.
type traces struct{ files []io.Closer }

// trace begins what the plan wants. What it has begun is to be closed, also
// where it fails.
func (s *simulation) trace(dir string) (*traces, error) {
	t := &traces{}
	traces := &s.plan.Traces
	if !traces.QLog && len(traces.Pcap) == 0 {
		return t, nil
	}
	dir = filepath.Join(dir, "traces")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return t, err
	}
	if traces.QLog {
		if err := t.sessions(s, dir); err != nil {
			return t, err
		}
	}
	if len(traces.Pcap) > 0 {
		c, err := capture(s.plan, dir)
		t.files = append(t.files, c)
		if err != nil {
			return t, err
		}
		s.run.Observer.Frame = c.frame
	}
	return t, nil
}

// sessions traces both ends of each.
func (t *traces) sessions(s *simulation, dir string) error {
	for i, p := range s.plans {
		ends := [2]*session.Config{&s.run.Transfers[i].Sender, &s.run.Transfers[i].Receiver}
		for end, role := range []string{metrics.Sender, metrics.Receiver} {
			names := qlog.Names{Scenario: p.Scenario, Session: p.Session.Name, Role: role, Dials: end == 0}
			w, err := qlog.Create(filepath.Join(dir, p.Session.Name+"-"+role+".sqlog"), names)
			if err != nil {
				return err
			}
			ends[end].Tracer = w
			t.files = append(t.files, w)
		}
	}
	return nil
}

func (t *traces) close() error {
	var failed error
	for _, f := range t.files {
		failed = errors.Join(failed, f.Close())
	}
	return failed
}
