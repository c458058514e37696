package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"ncp-testbed/internal/netns"
	"ncp-testbed/internal/probe"
	"ncp-testbed/internal/relay"
	"ncp-testbed/internal/test/testnet"
)

// build makes the program as a run has it.
func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "ncp-link")
	command := exec.Command("go", "build", "-o", binary, ".")
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return binary
}

func TestBadInputEndsWithTwoAndOneLine(t *testing.T) {
	binary := build(t)
	directory := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(directory, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	end := func(host string) string {
		return `{"host": "` + host + `", "interface": "i", "address": "198.18.1.1", "middle_interface": "nonesuch"}`
	}
	good := file("good.json", `{"schema": 2, "run": "r", "scenario": "s", "links": [{"name": "k", "a": `+end("h1")+`, "b": `+end("h2")+`}],
		"telemetry": {"interval_ms": 100}}`)
	for _, c := range []struct {
		arguments string
		code      int
		want      string
	}{
		{"", 2, "usage"},
		{"really", 2, `"really"`},
		{"relay", 2, "--plan"},
		{"relay --plan " + good, 2, "--dir"},
		{"relay --plan " + filepath.Join(directory, "nonexistent") + " --dir .", 2, "/nonexistent"},
		{"relay --plan " + file("bad.json", `{"schema": 7}`) + " --dir .", 2, "schema: 7, want 1 to 2"},
		{"relay --plan " + good + " --dir " + filepath.Join(directory, "nonexistent"), 2, "--dir"},
		{"relay --plan " + good + " --dir . --what", 2, "what"},
		{"relay --plan " + good + " --dir . --credentials /nonexistent", 2, "/nonexistent"},
		{"relay --plan " + good + " --dir " + directory, 1, "nonesuch"},
		{"probe --plan " + good + " --netns h1=/proc/self/ns/net", 2, `"h2"`},
		{"probe --plan " + good + " --netns h1", 2, "netns"},
		{"probe --plan " + good + " --seconds -1", 2, "--seconds"},
		{"probe --plan " + good + " --netns h1=/nonexistent --netns h2=/nonexistent", 1, "/nonexistent"},
	} {
		out, err := exec.Command(binary, strings.Fields(c.arguments)...).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != c.code || !strings.Contains(string(out), c.want) {
			t.Errorf("ncp-link %s: %v, %q, want exit %d and %q", c.arguments, err, out, c.code, c.want)
		}
		if c.want != "usage" && strings.Count(string(out), "\n") != 1 {
			t.Errorf("ncp-link %s: more than a line: %s", c.arguments, out)
		}
	}
}

func TestRelayAndProbeAsPrograms(t *testing.T) {
	n := testnet.New(t, testnet.Link{Name: "k", RateBPS: 8790016, Plan: map[string]any{"delay_ms": 20}})
	binary := build(t)
	socket := filepath.Join(n.Dir, "control.sock")
	command := testnet.Enter(n.Fabric, binary, "relay", "--plan", n.Plan, "--dir", n.Dir, "--control", socket)
	process := exec.Command(command[0], command[1:]...)
	process.Stderr = os.Stderr
	out, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = process.Process.Kill() }()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("the relay says %q (%v), want ready", line, err)
	}
	if info, err := os.Stat(socket); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("control socket: %v, %v, want one for its owner only", info, err)
	}

	found, err := exec.Command(binary, "probe", "--plan", n.Plan, "--seconds", "0.5",
		"--netns", "h1="+testnet.Path(n.Hosts["h1"]), "--netns", "h2="+testnet.Path(n.Hosts["h2"])).Output()
	if err != nil {
		t.Fatal(err)
	}
	var measured struct {
		Links []probe.Measurement `json:"links"`
	}
	if err := json.Unmarshal(found, &measured); err != nil {
		t.Fatal(err)
	}
	if len(measured.Links) != 2 || measured.Links[0].Link != "k" || measured.Links[0].Direction != "ab" ||
		measured.Links[0].DelayMS == nil || *measured.Links[0].DelayMS < 19.999 {
		t.Errorf("the probe found %s", found)
	}

	if err := process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := process.Wait(); err != nil {
		t.Errorf("the relay ended with %v", err)
	}
	text, err := os.ReadFile(filepath.Join(n.Dir, "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	var result relay.Result
	if err := json.Unmarshal(text, &result); err != nil {
		t.Fatal(err)
	}
	if len(result.Links) != 2 || result.Links[0].Frames == 0 || result.Links[0].Frames != result.Links[0].Sent ||
		result.Privileges.TimerSlackNS == 0 {
		t.Errorf("result %s", text)
	}
	spool, err := os.ReadFile(filepath.Join(n.Dir, "telemetry.lp"))
	if err != nil || !strings.HasPrefix(string(spool), "link,direction=ab,link=k,middle=relay,") {
		t.Errorf("spool %.200s (%v)", spool, err)
	}
	if _, err := os.Stat(socket); !os.IsNotExist(err) {
		t.Errorf("the control socket is still there: %v", err)
	}
}

// Wherever a relay fails before it forwards, it leaves nothing open.
func TestARelayThatFailsLeavesNothing(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which closes files that nobody has any more
	n := testnet.New(t, testnet.Link{Name: "k"})
	fails := func(more ...string) (left int) {
		code := 0
		err := netns.Within(testnet.Path(n.Fabric), func() error {
			code = run(append([]string{"relay", "--plan", n.Plan, "--dir", n.Dir, "--until-told"}, more...))
			return nil
		})
		if err != nil || code == 0 {
			t.Errorf("%v, exit %d, want a failure", err, code)
		}
		open, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(open)
	}
	control := []string{"--control", "/nonexistent/socket"}
	if before, after := fails(control...), fails(control...); after != before {
		t.Errorf("without its control socket: %d more descriptors are open", after-before)
	}
	n.In(t, n.Fabric, "ip", "link", "delete", "l1a")
	if before, after := fails(), fails(); after != before {
		t.Errorf("without its links: %d more descriptors are open", after-before)
	}
}

// ready starts the program in the fabric until the test ends; what follows waits for it to say that it forwards.
func ready(t *testing.T, n *testnet.Net, arguments ...string) (stdin io.WriteCloser, wait func()) {
	t.Helper()
	command := testnet.Enter(n.Fabric, append([]string{build(t)}, arguments...)...)
	process := exec.Command(command[0], command[1:]...)
	process.Stderr = os.Stderr
	out, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if stdin, err = process.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = process.Process.Signal(syscall.SIGTERM)
		if err := process.Wait(); err != nil {
			t.Errorf("it ended with %v", err)
		}
	})
	return stdin, func() {
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
			t.Fatalf("it says %q (%v), want ready", line, err)
		}
	}
}

func echoes(t *testing.T, n *testnet.Net) int {
	t.Helper()
	found, err := exec.Command(build(t), "echo", "--from", testnet.Path(n.Hosts["h1"])+"="+testnet.Address(1, 1),
		"--to", testnet.Address(1, 2), "--count", "20").Output()
	if err != nil {
		t.Fatal(err)
	}
	var measured struct {
		RTTsMS []float64 `json:"rtts_ms"`
	}
	if err := json.Unmarshal(found, &measured); err != nil {
		t.Fatal(err)
	}
	return len(measured.RTTsMS)
}

func TestARelayWaitsForItsLinksIfAskedTo(t *testing.T) {
	n := testnet.New(t, testnet.Link{Name: "k", Plan: map[string]any{"delay_ms": 1}})
	rename := func(from, to string) {
		n.In(t, n.Fabric, "ip", "link", "set", from, "down")
		n.In(t, n.Fabric, "ip", "link", "set", from, "name", to, "up")
	}
	rename("l1b", "elsewhere") // one end is not there yet
	stdin, wait := ready(t, n, "relay", "--plan", n.Plan, "--dir", n.Dir, "--until-told")
	for strings.Count(n.In(t, n.Fabric, "cat", "/proc/net/packet"), "\n") < 2 { // until it has its socket
		time.Sleep(10 * time.Millisecond)
	}
	rename("elsewhere", "l1b")
	_ = stdin.Close()
	wait()
	if got := echoes(t, n); got != 20 {
		t.Errorf("%d of 20 echoes came back", got)
	}
}

func TestABareEchoPassesFramesOn(t *testing.T) {
	n := testnet.New(t, testnet.Link{Name: "k", Plan: map[string]any{"delay_ms": 60_000}})
	_, wait := ready(t, n, "bare", "--plan", n.Plan)
	wait()
	if got := echoes(t, n); got != 20 {
		t.Errorf("%d of 20 echoes came back", got)
	}
}
