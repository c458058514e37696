package simrun

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"ncp-testbed/ncp-agent/metrics"
)

const planFile = "testdata/plan.json"

// golden is the SHA-256 of the plan's telemetry.lp, on every machine. A change
// of it is a change of results: of the session, a policy, the links or the
// points, and has to be meant.
const golden = "667034305372bbdb830e9714547183a8a17e7844de715cd37a8b630c0684b63f"

func TestTelemetryIsTheSameBytesEverywhere(t *testing.T) {
	traced := withTraces(t)
	for _, run := range []func(string) (*Facts, error){
		func(dir string) (*Facts, error) { return Run(planFile, dir) },
		func(dir string) (*Facts, error) { return Run(planFile, dir) },
		func(dir string) (*Facts, error) { return RunZeros(planFile, dir) },
		func(dir string) (*Facts, error) { return Run(traced, dir) },
	} {
		dir := t.TempDir()
		if _, err := run(dir); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "telemetry.lp"))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(text)
		if got := hex.EncodeToString(sum[:]); got != golden {
			t.Fatalf("telemetry.lp has SHA-256 %s, want %s", got, golden)
		}
	}
}

// withTraces returns the plan with all that can be traced.
func withTraces(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(planFile)
	if err != nil {
		t.Fatal(err)
	}
	asked := `{"traces": {"qlog": true, "pcap": ["fast", "slow"]}, `
	file := filepath.Join(t.TempDir(), "plan.json")
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), "{", asked, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// Whichever of its files can't be made, a run closes those that it has.
func TestARunThatFailsLeavesNothingOpen(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which closes files that nobody has any more
	open := func() int {
		found, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	traced := withTraces(t)
	for _, name := range []string{"traces/s1-sender.sqlog", "traces/s1-receiver.sqlog", "traces/fast-h1.pcap", "traces/slow-h2.pcap", "sim.json"} {
		dir, before := t.TempDir(), open()
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		_, err := Run(traced, dir)
		if after := open(); err == nil || after != before {
			t.Errorf("%s: %v, %d more descriptors are open", name, err, after-before)
		}
	}
}

// Who reads the facts of an earlier run has them whole: a new file takes their place.
func TestFactsTakeThePlaceOfEarlierOnes(t *testing.T) {
	dir := t.TempDir()
	earlier := filepath.Join(dir, "earlier.json")
	err := os.WriteFile(earlier, []byte("before"), 0o644)
	if err == nil {
		err = os.Link(earlier, filepath.Join(dir, "sim.json"))
	}
	if err == nil {
		_, err = Run(planFile, dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(earlier); string(text) != "before" {
		t.Errorf("%q (%v), want what was there", text, err)
	}
}

func TestEventsAndResults(t *testing.T) {
	dir := t.TempDir()
	facts, err := Run(planFile, dir)
	if err != nil {
		t.Fatal(err)
	}
	events, err := os.ReadFile(filepath.Join(dir, "events.csv"))
	if err != nil {
		t.Fatal(err)
	}
	want := "asked_s,at_s,kind,text\n1.000000,1.000000,set,slower\n1.500000,1.500000,carrier,down\n" +
		"1.800000,1.800000,carrier,up\n2.000000,2.000000,pause_read,pause\n"
	if string(events) != want {
		t.Errorf("events.csv is\n%swant\n%s", events, want)
	}
	var ends [2]metrics.Result
	for i, name := range []string{"s1-sender.json", "s1-receiver.json"} {
		text, err := os.ReadFile(filepath.Join(dir, "agents", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &ends[i]); err != nil {
			t.Fatal(err)
		}
	}
	if ends[0].SHA256 != ends[1].SHA256 || ends[1].Bytes != 2<<20 || ends[0].Bytes != 2<<20 {
		t.Errorf("sent %d bytes %s, received %d bytes %s", ends[0].Bytes, ends[0].SHA256, ends[1].Bytes, ends[1].SHA256)
	}
	if facts.Packets < 2048 || facts.Points == 0 {
		t.Errorf("facts %+v", facts)
	}
}

func TestPlansThatMakeNoSense(t *testing.T) {
	good, err := os.ReadFile(planFile)
	if err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string][2]string{
		`timeline[0].kind: "jump"`:                         {`"kind": "set"`, `"kind": "jump"`},
		"timeline[0].properties":                           {`"rate_bps": 4395008`, `"speed": 1`},
		`no link "nowhere"`:                                {`"link": "slow",`, `"link": "nowhere",`},
		`timeline[0].direction: "up", want ab, ba or both`: {`"direction": "both"`, `"direction": "up"`},
		"sessions: none":                                   {`"sessions": [`, `"sessions": [], "unread": [`},
		"schema":                                           {`"schema": 2`, `"schema": 9`},
	} {
		file := filepath.Join(t.TempDir(), "plan.json")
		if !strings.Contains(string(good), change[0]) {
			t.Fatalf("the plan has no %s", change[0])
		}
		bad := strings.ReplaceAll(string(good), change[0], change[1])
		if err := os.WriteFile(file, []byte(bad), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Run(file, t.TempDir()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
