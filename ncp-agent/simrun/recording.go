package simrun

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"ncp-testbed/internal/linkmetrics"
	"ncp-testbed/internal/linkmodel"
	"ncp-testbed/internal/plan"
	"ncp-testbed/internal/telemetry"
	"ncp-testbed/ncp-agent/config"
	"ncp-testbed/ncp-agent/metrics"
	"ncp-testbed/ncp-agent/session"
)

// epoch is the wall clock's time at the start of every simulation: any fixed
// one, so that the same run gives the same file.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// recording writes telemetry.lp and events.csv while a simulation runs.
type recording struct {
	file     *os.File
	out      *bufio.Writer
	points   telemetry.Points // of links and of the timeline
	ends     [][2]*metrics.Recorder
	linkTags []telemetry.Tags
	last     []linkmetrics.State
	lastAt   time.Duration
	timeline []plan.Action
	kindTags func(kind string) telemetry.Tags
	started  time.Duration            // of the first session
	told     map[string]time.Duration // time of the last event of each kind
	events   [][]string
	count    int
	failed   error
}

func newRecording(dir string, all []*config.Plan, linkNames []string) (*recording, error) {
	file, err := os.Create(filepath.Join(dir, "telemetry.lp"))
	if err != nil {
		return nil, err
	}
	first := all[0]
	r := &recording{
		file: file, out: bufio.NewWriterSize(file, 64<<10), timeline: all[0].Timeline,
		events: [][]string{{"asked_s", "at_s", "kind", "text"}}, told: map[string]time.Duration{},
	}
	for _, p := range all {
		names := metrics.Names{Run: p.Run, Scenario: p.Scenario, Session: p.Session.Name, Policy: p.Session.Policy}
		n := len(p.Session.Connections)
		r.ends = append(r.ends, [2]*metrics.Recorder{
			metrics.NewRecorder(names, metrics.Sender, n), metrics.NewRecorder(names, metrics.Receiver, n),
		})
	}
	for _, name := range linkNames {
		for _, direction := range linkmodel.Directions {
			r.linkTags = append(r.linkTags, linkmetrics.Tags(first.Run, first.Scenario, "model", name, direction))
		}
	}
	r.kindTags = func(kind string) telemetry.Tags {
		return telemetry.MakeTags(map[string]string{
			"run": first.Run, "scenario": first.Scenario, "session": first.Session.Name, "kind": kind,
		})
	}
	return r, nil
}

// sample records both ends of a transfer, from its handshake on.
func (r *recording) sample(now time.Duration, transfer int, sender, receiver *session.Stats) {
	for i, stats := range []*session.Stats{sender, receiver} {
		if stats.State < session.Established || now <= stats.EstablishedAt {
			continue
		}
		recorder := r.ends[transfer][i]
		recorder.Sample(epoch.Add(now), epoch.Add(stats.EstablishedAt), stats)
		r.write(&recorder.Points)
	}
}

// links records every direction.
func (r *recording) links(now time.Duration, states []linkmetrics.State) {
	if r.last != nil {
		for i := range states {
			linkmetrics.Add(&r.points, r.linkTags[i], &states[i], &r.last[i], epoch.Add(now), now-r.lastAt, linkmetrics.NoLateness)
		}
		r.write(&r.points)
	}
	r.last, r.lastAt = append(r.last[:0], states...), now
}

// happened records an entry of the timeline.
func (r *recording) happened(now time.Duration, index int) {
	a := &r.timeline[index]
	at := (now - r.started).Seconds()
	// Points of one kind and time are one point, so what is done at once is a nanosecond apart there.
	if last, found := r.told[a.Kind]; found && now <= last {
		now = last + 1
	}
	r.told[a.Kind] = now
	r.points.Add("event", r.kindTags(a.Kind), epoch.Add(now),
		telemetry.Float("asked_s", a.AtS), telemetry.Float("at_s", at), telemetry.Text("text", a.Text))
	r.write(&r.points)
	r.events = append(r.events, []string{fmt.Sprintf("%.6f", a.AtS), fmt.Sprintf("%.6f", at), a.Kind, a.Text})
}

// milestone records the start or an end of a transfer.
func (r *recording) milestone(transfer, end int, kind string, at, started time.Duration, text string) {
	recorder := r.ends[transfer][end]
	recorder.Event(kind, epoch.Add(at), at-started, text)
	r.write(&recorder.Points)
}

func (r *recording) write(p *telemetry.Points) {
	lines, count, err := p.Take()
	r.count += count
	if err == nil {
		_, err = r.out.Write(lines)
	}
	if r.failed == nil {
		r.failed = err
	}
}

// close writes the rest; its error is the first of all.
func (r *recording) close(dir string) error {
	for _, err := range []error{r.out.Flush(), r.file.Close(), r.writeEvents(dir)} {
		if r.failed == nil {
			r.failed = err
		}
	}
	return r.failed
}

func (r *recording) writeEvents(dir string) error {
	file, err := os.Create(filepath.Join(dir, "events.csv"))
	if err != nil {
		return err
	}
	defer file.Close()
	rows := csv.NewWriter(file)
	if err := rows.WriteAll(r.events); err != nil {
		return err
	}
	return file.Close()
}
