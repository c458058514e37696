package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ncp-testbed/ndn-agent/agent"
)

// TestMain lets the test binary be the agent itself.
func TestMain(m *testing.M) {
	if os.Getenv("BE_NDN_AGENT") != "" {
		os.Exit(run(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// asAgent makes the test binary the agent. Under the race detector a program
// sleeps for a second at its end unless it is told not to.
func asAgent() []string {
	return append(os.Environ(), "BE_NDN_AGENT=1", "GORACE=atexit_sleep_ms=0")
}

// process is one running agent.
type process struct {
	t       *testing.T
	command *exec.Cmd
	out     *bufio.Reader
	errors  bytes.Buffer
}

func start(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{t: t, command: exec.Command(os.Args[0], args...)}
	p.command.Env = asAgent()
	p.command.Stderr = &p.errors
	out, err := p.command.StdoutPipe()
	if err == nil {
		err = p.command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReader(out)
	t.Cleanup(func() { p.command.Process.Kill() })
	return p
}

// say reads output until a line begins with some text, and gives the rest of it.
func (p *process) say(prefix string) string {
	p.t.Helper()
	for {
		line, err := p.out.ReadString('\n')
		if rest, ok := strings.CutPrefix(line, prefix); ok {
			return strings.TrimSpace(rest)
		}
		if err != nil {
			p.command.Wait()
			p.t.Fatalf("%v: no line %q: %s", err, prefix, p.errors.String())
		}
	}
}

// end waits for the exit code.
func (p *process) end(code int) {
	p.t.Helper()
	p.command.Wait()
	if got := p.command.ProcessState.ExitCode(); got != code {
		p.t.Fatalf("exit code %d, want %d: %s", got, code, p.errors.String())
	}
}

func (p *process) terminate(code int) {
	p.t.Helper()
	p.command.Process.Signal(syscall.SIGTERM)
	p.end(code)
}

// planned is an agent of a plan.
type planned struct {
	*process
	dir    string
	client http.Client
}

func startNode(t *testing.T, plan, host string) *planned {
	t.Helper()
	n := &planned{dir: t.TempDir()}
	socket := filepath.Join(n.dir, "control")
	n.process = start(t, "run", "--plan", plan, "--node", host, "--dir", n.dir, "--control", socket)
	n.client.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	return n
}

// await asks until the agent is in a state.
func (n *planned) await(state string) agent.Status {
	n.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		var status agent.Status
		answer, err := n.client.Get("http://agent/state")
		if err == nil {
			err = json.NewDecoder(answer.Body).Decode(&status)
			answer.Body.Close()
		}
		if err == nil && status.State == state {
			return status
		}
		if time.Now().After(end) {
			n.t.Fatalf("state %+v, %v, want %s; %s", status, err, state, n.errors.String())
		}
	}
}

func (n *planned) post(path string) int {
	n.t.Helper()
	answer, err := n.client.Post("http://agent"+path, "", nil)
	if err != nil {
		n.t.Fatal(err)
	}
	answer.Body.Close()
	return answer.StatusCode
}

func (n *planned) result() agent.Result { return readResult(n.t, filepath.Join(n.dir, "result.json")) }

func readResult(t *testing.T, file string) agent.Result {
	t.Helper()
	var r agent.Result
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}
