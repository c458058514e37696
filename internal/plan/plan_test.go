package plan

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
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
    "rate_bps": 8790016, "frame_bytes": 1073, "burst_bytes": 3219, "seed": 17` + keys + `}`
}

func read(t *testing.T, links string) (*Plan, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plan.json")
	text := `{"schema": 2, "run": "r", "scenario": "s", "links": [` + links + `], "telemetry": {"interval_ms": 100}}`
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
	for _, m := range p.Links[0].Emulated {
		if m.Limited() || m.DelayMS != 50 || m.Loss != 0.01 {
			t.Errorf("middle %+v, want delay 50 ms, loss 0.01 and no rate", m)
		}
	}
	if p.Links[0].RateBPS != 8790016 || !p.Links[0].ShapedAtHosts() {
		t.Errorf("%+v: the hosts' rate is gone", p.Links[0])
	}
}

// Likewise where the hosts' rate is in frames per second.
func TestFramesPerSecondOfTheHostsAreNotInTheMiddle(t *testing.T) {
	p, err := read(t, strings.Replace(link(""), `"rate_bps": 8790016`, `"frames_pps": 1024`, 1))
	if err != nil {
		t.Fatal(err)
	}
	if l := &p.Links[0]; l.Emulated[0].Limited() || l.Emulated[1].Limited() || l.EndToEnd(0).FramesPPS != 1024 {
		t.Errorf("middle %+v, end to end %+v, want 1024 frames/s of the whole alone", l.Emulated, l.EndToEnd(0))
	}
}

func TestLinkShapedInTheMiddle(t *testing.T) {
	p, err := read(t, link(`, "queue": {"mode": "codel", "packets": 103}, "delay_ms": 50.0, "ba": {"delay_ms": 5, "frames_pps": 10}`))
	if err != nil {
		t.Fatal(err)
	}
	forward, reverse := p.Links[0].Emulated[0], p.Links[0].Emulated[1]
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
	if m := p.Links[0].Emulated[0]; m.RateBPS != 0 || m.Trace.IsZero() || m.Queue.Packets != 9 {
		t.Errorf("%+v", m)
	}
	if _, err := read(t, link(`, "trace_ms": [1, 4]`)); err == nil || !strings.Contains(err.Error(), "queue.mode") {
		t.Errorf("a trace without a queue in the middle: %v", err)
	}
}

// resolved is a change as JSON with what its files have.
func resolved(text, directory string) (linkmodel.Change, error) {
	var c Change
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return linkmodel.Change{}, err
	}
	return c.Resolve(directory)
}

func TestFilesBesideThePlan(t *testing.T) {
	directory := t.TempDir()
	for name, text := range map[string]string{"up.trace": "1\n2\n", "jitter.ms": "0.5\n\n1\n", "bad.trace": "1\nx\n"} {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := resolved(`{"trace_file": "up.trace", "jitter_file": "jitter.ms"}`, directory)
	if err != nil {
		t.Fatal(err)
	}
	p := linkmodel.Properties{}.Apply(&c)
	if trace, err := p.Trace.MarshalJSON(); err != nil || string(trace) != "[1,2]" || p.JitterKind != linkmodel.JitterSamples || len(p.JitterSamplesMS) != 2 {
		t.Errorf("%+v", p)
	}
	if _, err := resolved(`{"trace_file": "bad.trace"}`, directory); err == nil ||
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
			_, err := resolved(fmt.Sprintf(`{%q: %q}`, key, path), directory)
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
		link(`, "rate_bps": -5`):                 "links[0].rate_bps: -5",
		link(`, "delay_ms": "5"`):                "line 4: links.delay_ms: string, want float64",
		link(`, "queue": {"packets": 1.5}`):      "line 4: links.queue.packets: number 1.5, want int",
		link(`, "ba": {"los": 1}`):               `links[0].ba."los": no such property, want some of rate_bps`,
		link(`, "ba": {"loss": "1"}`):            `links[0].ba.loss: string, want float64`,
		link(`, "ba": {"loss": 2}`):              `links[0].ba.loss: 2, want a number from 0 to 1`,
		link(`, "ba": {"queue": {"bytes": 2}}`):  `links[0].ba.queue: json: unknown field "bytes"`,
		link(`, "ba": 7`):                        `links[0].ba.7: want an object of properties`,
		link(``) + "," + link(``):                `links[1].name: "fast" is taken`,
		strings.Replace(link(``), "l1b", "", 1):  "links[0].b.middle_interface",
		strings.Replace(link(``), "198.", "", 1): `links[0].a.address: "18.1.1"`,
	} {
		if _, err := read(t, links); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "plan.json: ") {
			t.Errorf("error %v, want one that says %q", err, want)
		}
	}
	if _, err := Read("/nonexistent/plan.json"); err == nil {
		t.Error("a plan that is not there was read")
	}
}

func TestHeadersOfBadPlansAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		`{`:                                "plan.json: line 1: not JSON",
		"{\n\"sessions\": 1e999}":          "plan.json: line 2: sessions: number, want []plan.Session",
		`{"schema": 7}`:                    "schema: 7, want 1 to 2",
		`{"schema": 2, "run": "r"}`:        `run: "r", scenario: "", want both named`,
		header(`{"interval_ms": 0}`):       "telemetry.interval_ms: 0, want 1 to 3600000 milliseconds",
		header(`{"interval_ms": 0.5}`):     "telemetry.interval_ms: 0.5, want",
		header(`{"interval_ms": -1}`):      "telemetry.interval_ms: -1, want",
		header(`{"interval_ms": 3600001}`): "telemetry.interval_ms: 3.600001e+06, want",
		header(`{"interval_ms": 1e300}`):   "telemetry.interval_ms: 1e+300, want",
	} {
		if _, err := ParseTraffic([]byte(text), "plan.json"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one that says %q", text, err, want)
		}
	}
}

func header(telemetry string) string {
	return `{"schema": 2, "run": "r", "scenario": "s", "telemetry": ` + telemetry + `}`
}

// Where nothing is pushed, a plan need not say where to.
func TestTheDatabaseIsForCredentialsOnly(t *testing.T) {
	credentials := filepath.Join(t.TempDir(), "credentials.json")
	if err := os.WriteFile(credentials, []byte(`{"username": "u", "password": "p"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for telemetry, want := range map[string]string{
		`{"interval_ms": 1}`: `plan.json: telemetry.url: "", want one like`,
		`{"interval_ms": 1, "url": "x:1", "database": "d"}`:      `plan.json: telemetry.url: "x:1", want one like`,
		`{"interval_ms": 1, "url": "http://x"}`:                  "plan.json: telemetry.database: empty, want",
		`{"interval_ms": 1, "url": "http://x", "database": "d"}`: "",
	} {
		p, err := ParseTraffic([]byte(header(telemetry)), "plan.json")
		if err != nil {
			t.Fatal(err)
		}
		if c, err := p.Credentials(""); c != nil || err != nil {
			t.Errorf("%s without credentials: %v, %v", telemetry, c, err)
		}
		c, err := p.Credentials(credentials)
		if want == "" && (err != nil || c.Username != "u") || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, %v, want an error that says %q", telemetry, c, err, want)
		}
	}
}

// Plans of all scenarios, and of results that earlier versions left, are read.
func TestPlansOfTodayAndOfEarlierResults(t *testing.T) {
	checkout, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	check := func(path string, text []byte) {
		if _, err := parse(text, path); err != nil {
			t.Error(err)
		}
		read++
	}
	for _, folder := range []string{"../../tests/golden/files/plans/scenarios", "../../data/reference"} {
		err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			name := filepath.Base(path)
			if err != nil || filepath.Ext(name) != ".json" || name != "plan.json" && !strings.Contains(path, "golden") {
				return err
			}
			text, err := os.ReadFile(path)
			if name != "plan.json" {
				var forms struct{ Full json.RawMessage }
				err = errors.Join(err, json.Unmarshal(text, &forms))
				text = bytes.ReplaceAll(forms.Full, []byte("CHECKOUT"), []byte(checkout))
			}
			check(path, text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	bundles, err := filepath.Glob("../../tests/bundle/old/*.zip")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range bundles {
		bundle, err := zip.OpenReader(path)
		if err != nil {
			t.Fatal(err)
		}
		defer bundle.Close()
		for _, file := range bundle.File {
			if filepath.Base(file.Name) == "plan.json" {
				text, err := fs.ReadFile(bundle, file.Name)
				if err != nil {
					t.Fatal(err)
				}
				check(path+"/"+file.Name, text)
			}
		}
	}
	if read < 80 {
		t.Errorf("%d plans, want those of all scenarios and results", read)
	}
}

// A rate is not rounded in a plan; a link of the model has it in whole bits per second, as the kernel's shaper does.
func TestRatesAreWholeBitsPerSecond(t *testing.T) {
	for rate, want := range map[string]float64{"879001.6": 879002, "2832.5": 2832, "0.4": 1, "8790016": 8790016} {
		for _, mode := range []string{"backpressure", "droptail"} {
			p, err := read(t, link(`, "queue": {"mode": "`+mode+`", "packets": 9}, "rate_bps": `+rate+`, "ba": {"rate_bps": `+rate+`}`))
			if err != nil {
				t.Fatal(err)
			}
			for d := range linkmodel.Directions {
				if got := p.Links[0].EndToEnd(d).RateBPS; got != want {
					t.Errorf("%s, %s: direction %d has %v bit/s, want %v", rate, mode, d, got, want)
				}
			}
		}
	}
}

func TestPlansOfTheFirstSchemaAreRead(t *testing.T) {
	now := link(`, "queue": {"mode": "droptail", "packets": 9}, "delay_ms": 50.0`)
	of := func(schema int, links string) *Plan {
		p, err := parse([]byte(fmt.Sprintf(`{"schema": %d, "run": "r", "scenario": "s", "links": [%s], "telemetry": {"interval_ms": 100}}`, schema, links)), "p")
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	before := of(1, strings.Replace(now, `"frame_bytes"`, `"rate_pps": 1024.0, "frame_bytes"`, 1))
	for d := range linkmodel.Directions {
		if got, want := before.Links[0].EndToEnd(d), of(2, now).Links[0].EndToEnd(d); !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}
