package push

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/influxdata/line-protocol/v2/lineprotocol"

	"ncp-testbed/internal/telemetry"
)

// A real InfluxDB is killed in mid-stream, twice, and started again: after the
// drain it holds exactly the points of the spools.
func TestRealInfluxDBKilledAndRestarted(t *testing.T) {
	db := newInfluxDB(t)
	dir := t.TempDir()
	paths := []string{filepath.Join(dir, "a.lp"), filepath.Join(dir, "b.lp")}
	var log syncBuffer
	p := Start(db.Config, login, &log, paths...)
	stop, written := make(chan struct{}), make(chan error)
	for k, path := range paths {
		go func() { written <- stream(path, fmt.Sprint("s", k), stop) }()
	}
	held := func() int { return len(rows(t, db.Config, "SELECT x FROM m")) }
	for range 2 {
		before := held()
		eventually(t, "points arrive", func() bool { return held() > before+500 })
		outages := strings.Count(log.String(), "spool holds")
		db.end(syscall.SIGKILL)
		eventually(t, "the outage is noticed", func() bool { return strings.Count(log.String(), "spool holds") > outages })
		db.start(t)
	}
	before := held()
	eventually(t, "points arrive again", func() bool { return held() > before+500 })
	close(stop)
	for range paths {
		if err := <-written; err != nil {
			t.Fatal(err)
		}
	}
	got := p.Close(drain)
	want := spooledRows(t, paths)
	if got != (telemetry.Counts{Points: len(want), Pushed: len(want)}) || p.Err() != nil {
		t.Errorf("counts %+v, want %d; %v", got, len(want), p.Err())
	}
	var have []string
	for _, row := range rows(t, db.Config, "SELECT x, n, text, spool FROM m") {
		have = append(have, strings.Join(row, " "))
	}
	slices.Sort(have)
	if !slices.Equal(have, want) {
		t.Errorf("the database holds %d points, the spools %d, and they differ", len(have), len(want))
	}
	t.Logf("%d points through two kills; %s", len(want), log.String())
}

// stream appends 20 points every 2 ms until it is stopped.
func stream(path, name string, stop <-chan struct{}) error {
	s, err := telemetry.OpenSpool(path)
	if err != nil {
		return err
	}
	tags := telemetry.MakeTags(map[string]string{"run": "r", "spool": name})
	var p telemetry.Points
	for i := 0; ; i += 20 {
		select {
		case <-stop:
			return s.Close()
		case <-time.After(2 * time.Millisecond):
		}
		for k := i; k < i+20; k++ {
			p.Add("m", tags, time.Unix(1700000000, int64(k)), telemetry.Float("x", float64(k)/8), telemetry.Int("n", k), telemetry.Text("text", fmt.Sprint("t", k)))
		}
		if err := s.Append(&p); err != nil {
			return err
		}
	}
}

// spooledRows reads spools of stream the way rows gives what is stored.
func spooledRows(t *testing.T, paths []string) []string {
	t.Helper()
	var list []string
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for d := lineprotocol.NewDecoderWithBytes(text); d.Next(); {
			values := map[string]string{}
			if _, err := d.Measurement(); err != nil {
				t.Fatal(err)
			}
			for {
				key, value, err := d.NextTag()
				if err != nil {
					t.Fatal(err)
				}
				if key == nil {
					break
				}
				values[string(key)] = string(value)
			}
			for {
				key, value, err := d.NextField()
				if err != nil {
					t.Fatal(err)
				}
				if key == nil {
					break
				}
				values[string(key)] = fmt.Sprint(value.Interface())
			}
			at, err := d.Time(lineprotocol.Nanosecond, time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, fmt.Sprintf("%d %s %s %s %s", at.UnixNano(), values["x"], values["n"], values["text"], values["spool"]))
		}
	}
	slices.Sort(list)
	return list
}
