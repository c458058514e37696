// Package agenttest runs a program out of its own test binary, and talks to
// agents by their control sockets.
package agenttest

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

const beProgram = "BE_THE_PROGRAM"

// Main is a TestMain that lets the test binary be the program itself.
func Main(m *testing.M, run func(args []string) int) {
	if os.Getenv(beProgram) != "" {
		os.Exit(run(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// command is the program with arguments. A program with the race
// detector sleeps for a second at its end by default.
func command(args ...string) *exec.Cmd {
	c := exec.Command(os.Args[0], args...)
	c.Env = append(os.Environ(), beProgram+"=1", "GORACE=atexit_sleep_ms=0")
	return c
}

// Process is one running program; it does not outlive its test.
type Process struct {
	t       *testing.T
	command *exec.Cmd
	out     *bufio.Reader
	errors  bytes.Buffer
}

// Start starts the program.
func Start(t *testing.T, args ...string) *Process {
	t.Helper()
	p := &Process{t: t, command: command(args...)}
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

// Line reads output until a line begins with some text, and gives the rest of it.
func (p *Process) Line(prefix string) string {
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

// End waits for the program's end, with an exit code.
func (p *Process) End(code int) {
	p.t.Helper()
	p.command.Wait()
	if got := p.command.ProcessState.ExitCode(); got != code {
		p.t.Fatalf("exit code %d, want %d: %s", got, code, p.errors.String())
	}
}

// Terminate ends the program by SIGTERM.
func (p *Process) Terminate(code int) {
	p.t.Helper()
	p.command.Process.Signal(syscall.SIGTERM)
	p.End(code)
}

// Refuses tells that the program ends by itself with an exit code and says why.
func Refuses(t *testing.T, args []string, code int, why string) {
	t.Helper()
	c := command(args...)
	out, _ := c.CombinedOutput()
	if got := c.ProcessState.ExitCode(); got != code || !strings.Contains(string(out), why) {
		t.Errorf("%v: exit code %d, said %q, want %d and %q", args, got, out, code, why)
	}
}
