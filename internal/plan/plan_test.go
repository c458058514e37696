package plan

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ncp-testbed/internal/linkmodel"
)

// link is a link of a plan as docs/contracts.md has it, with further keys.
func link(keys string) string {
	return `{"name": "fast", "index": 1,
    "a": {"host": "h1", "interface": "h1-eth1", "address": "198.18.1.1", "prefix": 30, "middle_interface": "l1a"},
    "b": {"host": "h2", "interface": "h2-eth1", "address": "198.18.1.2", "prefix": 30, "middle_interface": "l1b"},
    "rate_bps": 8790016, "rate_pps": 1024, "frame_bytes": 1073, "burst_bytes": 3219, "seed": 17` + keys + `}`
}

func read(t *testing.T, links string) (*Plan, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plan.json")
	text := `{"schema": 1, "run": "r", "scenario": "s", "links": [` + links + `], "telemetry": {"interval_ms": 100}}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Read(path)
}

func TestLinkShapedAtTheHostsHasNoRateInTheMiddle(t *testing.T) {
	p, err := read(t, link(`, "queue": {"mode": "backpressure", "packets": 103}, "delay_ms": 50.0, "loss": 0.01, "later": {}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range p.Links[0].Middle {
		if m.Limited() || m.DelayMS != 50 || m.Loss != 0.01 {
			t.Errorf("middle %+v, want delay 50 ms, loss 0.01 and no rate", m)
		}
	}
	if p.Links[0].RateBPS != 8790016 || !p.Links[0].ShapedAtHosts() {
		t.Errorf("%+v: the hosts' rate is gone", p.Links[0])
	}
}

func TestLinkShapedInTheMiddle(t *testing.T) {
	p, err := read(t, link(`, "queue": {"mode": "codel", "packets": 103}, "delay_ms": 50.0, "ba": {"delay_ms": 5, "frames_pps": 10}`))
	if err != nil {
		t.Fatal(err)
	}
	forward, reverse := p.Links[0].Middle[0], p.Links[0].Middle[1]
	if forward.RateBPS != 8790016 || forward.Queue != (linkmodel.Queue{Mode: "codel", Packets: 103}) || forward.DelayMS != 50 {
		t.Errorf("forward %+v", forward)
	}
	if reverse.RateBPS != 0 || reverse.FramesPPS != 10 || reverse.DelayMS != 5 || reverse.Queue.Packets != 103 {
		t.Errorf("reverse %+v", reverse)
	}
}

func TestTraceReplacesTheRate(t *testing.T) {
	p, err := read(t, link(`, "queue": {"mode": "droptail", "packets": 9}, "delay_ms": 5, "trace_ms": [1, 4]`))
	if err != nil {
		t.Fatal(err)
	}
	if m := p.Links[0].Middle[0]; m.RateBPS != 0 || m.Trace.IsZero() || m.Queue.Packets != 9 {
		t.Errorf("%+v", m)
	}
	if _, err := read(t, link(`, "trace_ms": [1, 4]`)); err == nil || !strings.Contains(err.Error(), "queue.mode") {
		t.Errorf("a trace without a queue in the middle: %v", err)
	}
}

func TestFilesBesideThePlan(t *testing.T) {
	directory := t.TempDir()
	for name, text := range map[string]string{"up.trace": "1\n2\n", "jitter.ms": "0.5\n\n1\n", "bad.trace": "1\nx\n"} {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := ParseChange([]byte(`{"trace_file": "up.trace", "jitter_file": "jitter.ms"}`), directory)
	if err != nil {
		t.Fatal(err)
	}
	p := linkmodel.Properties{}.Apply(&c)
	if trace, err := p.Trace.MarshalJSON(); err != nil || string(trace) != "[1,2]" || p.JitterKind != linkmodel.JitterSamples || len(p.JitterSamplesMS) != 2 {
		t.Errorf("%+v", p)
	}
	if _, err := ParseChange([]byte(`{"trace_file": "bad.trace"}`), directory); err == nil ||
		!strings.Contains(err.Error(), `bad.trace: line 2: "x"`) {
		t.Errorf("error %v, want one that names file, line and value", err)
	}
}

// Files that may take for ever to read, or more memory than there is, are refused unread, by the rule of
// topologies/link_files.py.
func TestUnfitFilesAreNotRead(t *testing.T) {
	directory := t.TempDir()
	fifo, huge, empty := filepath.Join(directory, "fifo"), filepath.Join(directory, "huge"), filepath.Join(directory, "empty")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, size := range map[string]int64{huge: largestFileBytes + 1, empty: 0} {
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, size)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		fifo: "no ordinary file", directory: "no ordinary file", "/dev/zero": "no ordinary file",
		huge: "8388609 bytes; want", empty: "0 bytes; want", "/proc/kmsg": "0 bytes; want",
	} {
		for _, key := range []string{"trace_file", "jitter_file"} {
			_, err := ParseChange(fmt.Appendf(nil, `{%q: %q}`, key, path), directory)
			if err == nil || !strings.Contains(err.Error(), key+": "+path+": ") || !strings.Contains(err.Error(), want) {
				t.Errorf("%s %s: error %v, want one that says %q", key, path, err, want)
			}
		}
	}
	rule, err := os.ReadFile("../../topologies/link_files.py")
	if err != nil || !strings.Contains(string(rule), "\nLARGEST_BYTES = 8 << 20\n") || largestFileBytes != 8<<20 {
		t.Errorf("topologies/link_files.py has another bound than %d bytes, %v", largestFileBytes, err)
	}
}

func TestBadPlansAreNamed(t *testing.T) {
	for links, want := range map[string]string{
		``:                                       "links: none",
		link(`, "delay_ms": -5`):                 "links[0].delay_ms: -5",
		link(`, "ba": {"los": 1}`):               `links[0].ba."los": no such property, want some of rate_bps`,
		link(``) + "," + link(``):                `links[1].name: "fast" is taken`,
		strings.Replace(link(``), "l1b", "", 1):  "links[0].b.middle_interface",
		strings.Replace(link(``), "198.", "", 1): `links[0].a.address: "18.1.1"`,
	} {
		if _, err := read(t, links); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "plan.json") {
			t.Errorf("error %v, want one that says %q", err, want)
		}
	}
	for _, interval := range []string{"0", "0.5", "-1", "3600001", "1e300"} {
		path := filepath.Join(t.TempDir(), "plan.json")
		text := `{"schema": 1, "links": [` + link(``) + `], "telemetry": {"interval_ms": ` + interval + `}}`
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "telemetry.interval_ms: ") {
			t.Errorf("interval_ms %s: error %v", interval, err)
		}
	}
	if _, err := Read("/nonexistent/plan.json"); err == nil {
		t.Error("a plan that is not there was read")
	}
}
