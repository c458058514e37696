package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ncp-testbed/internal/cli"
	"ncp-testbed/internal/telemetry"
)

// TestMain lets the test binary be ncp-push itself.
func TestMain(m *testing.M) {
	if os.Getenv("BE_NCP_PUSH") != "" {
		os.Exit(run(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// server takes what is written, as InfluxDB does, with a status of its own.
type server struct {
	mu       sync.Mutex
	status   int
	lines    []string
	requests int
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	if s.status == http.StatusNoContent {
		s.lines = append(s.lines, strings.Split(strings.TrimSuffix(string(body), "\n"), "\n")...)
	}
	w.WriteHeader(s.status)
}

func (s *server) taken() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.lines)
}

func (s *server) asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// files writes a plan and credentials for a server.
func files(t *testing.T, url string) (plan, credentials string) {
	t.Helper()
	dir := t.TempDir()
	plan, credentials = filepath.Join(dir, "plan.json"), filepath.Join(dir, "credentials.json")
	write(t, plan, fmt.Sprintf(`{"schema": 2, "run": "r", "scenario": "s", "telemetry": {"interval_ms": 100, "url": %q, "database": "d"}}`, url))
	write(t, credentials, `{"username": "u", "password": "p"}`)
	return plan, credentials
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func command(args ...string) (c *exec.Cmd, out, errors *bytes.Buffer) {
	c, out, errors = exec.Command(os.Args[0], args...), &bytes.Buffer{}, &bytes.Buffer{}
	c.Env = append(os.Environ(), "BE_NCP_PUSH=1")
	c.Stdout, c.Stderr = out, errors
	return c, out, errors
}

// Tails two spools that grow, one from before the start and one that appears
// later, until SIGTERM or SIGINT; then it pushes what came last and tells.
func TestPushesUntilSignal(t *testing.T) {
	for name, signal := range map[string]os.Signal{"SIGTERM": syscall.SIGTERM, "SIGINT": syscall.SIGINT} {
		t.Run(name, func(t *testing.T) {
			s := &server{status: http.StatusNoContent}
			influxdb := httptest.NewServer(s)
			defer influxdb.Close()
			plan, credentials := files(t, influxdb.URL)
			early, late, never := filepath.Join(t.TempDir(), "early.lp"), filepath.Join(t.TempDir(), "late.lp"), filepath.Join(t.TempDir(), "never.lp")
			write(t, early, "m i=1i 1\n")
			c, out, errors := command("--plan", plan, "--credentials", credentials, "--spool", early, "--spool", late, "--spool", never)
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			defer c.Process.Kill()
			eventually(t, "the first point", func() bool { return s.taken() == 1 })
			write(t, late, "m i=2i 2\n")
			eventually(t, "the second point", func() bool { return s.taken() == 2 })
			write(t, early, "m i=1i 1\nm i=3i 3\n")
			c.Process.Signal(signal)
			c.Wait()
			var counts telemetry.Counts
			if err := json.Unmarshal(out.Bytes(), &counts); err != nil || counts != (telemetry.Counts{Points: 3, Pushed: 3}) {
				t.Errorf("said %q, %v", out, err)
			}
			if code := c.ProcessState.ExitCode(); code != cli.ExitDone || errors.Len() > 0 || s.taken() != 3 {
				t.Errorf("exit code %d, %d points taken, %s", code, s.taken(), errors)
			}
		})
	}
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// What keeps points out of InfluxDB is exit 1, with the counts and the reason.
func TestFailures(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		spool  string // its text, or nothing for a folder
		counts telemetry.Counts
		want   string
	}{
		"InfluxDB fails":     {http.StatusInternalServerError, "m i=1i 1\n", telemetry.Counts{Points: 1}, "answered 500"},
		"rejected":           {http.StatusBadRequest, "m i=1i 1\n", telemetry.Counts{Points: 1, Rejected: 1}, "rejected 1 of 1 points"},
		"wrong credentials":  {http.StatusUnauthorized, "m i=1i 1\n", telemetry.Counts{Points: 1}, `does not know user "u"`},
		"unreadable spool":   {http.StatusNoContent, "", telemetry.Counts{}, "is a directory"},
		"unfinished spool":   {http.StatusNoContent, "m i=1i 1\nm i=", telemetry.Counts{Points: 1, Pushed: 1}, "no newline"},
		"unreachable server": {0, "m i=1i 1\n", telemetry.Counts{Points: 1}, "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{status: c.status}
			influxdb := httptest.NewServer(s)
			defer influxdb.Close()
			plan, credentials := files(t, influxdb.URL)
			if c.status == 0 {
				influxdb.Close()
			}
			spool := t.TempDir()
			if c.spool != "" {
				spool = filepath.Join(spool, "spool.lp")
				write(t, spool, c.spool)
			}
			p, out, _ := command("--plan", plan, "--credentials", credentials, "--spool", spool, "--drain", "300ms")
			log, err := os.Create(filepath.Join(t.TempDir(), "log"))
			if err != nil {
				t.Fatal(err)
			}
			defer log.Close()
			p.Stderr = log
			errors := func() string {
				text, err := os.ReadFile(log.Name())
				if err != nil {
					t.Fatal(err)
				}
				return string(text)
			}
			if err := p.Start(); err != nil {
				t.Fatal(err)
			}
			defer p.Process.Kill()
			eventually(t, "it has looked at the spool", func() bool { return s.asked() > 0 || errors() != "" })
			p.Process.Signal(syscall.SIGTERM)
			p.Wait()
			var counts telemetry.Counts
			if err := json.Unmarshal(out.Bytes(), &counts); err != nil || counts != c.counts {
				t.Errorf("said %q, %v, want %+v", out, err, c.counts)
			}
			if code := p.ProcessState.ExitCode(); code != cli.ExitFailed || strings.Count(errors(), c.want) != 1 {
				t.Errorf("exit code %d, said %s, want %q once", code, errors(), c.want)
			}
		})
	}
}

func TestBadInput(t *testing.T) {
	plan, credentials := files(t, "http://127.0.0.1:1")
	empty := filepath.Join(t.TempDir(), "empty.json")
	write(t, empty, "{}")
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "--plan: not given"},
		{[]string{"--plan", plan, "--credentials", credentials}, "--spool: not given"},
		{[]string{"--plan", "/nowhere", "--credentials", credentials, "--spool", "x"}, "/nowhere"},
		{[]string{"--plan", empty, "--credentials", credentials, "--spool", "x"}, "empty.json: schema: 0, want 1"},
		{[]string{"--plan", plan, "--credentials", empty, "--spool", "x"}, "empty.json: username: empty, want"},
		{[]string{"--plan", plan, "--credentials", credentials, "--spool", "x", "--drain", "soon"}, "invalid value"},
	} {
		p, out, errors := command(c.args...)
		p.Run()
		if code := p.ProcessState.ExitCode(); code != cli.ExitBadInput || !strings.Contains(errors.String(), c.want) || out.Len() > 0 {
			t.Errorf("%v: exit code %d, said %q, want 2 and %q", c.args, code, errors, c.want)
		}
	}
}
