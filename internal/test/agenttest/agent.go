package agenttest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"
)

// Agent is a running agent of a plan.
type Agent struct {
	*Process
	Dir    string
	client http.Client
}

// StartAgent starts an agent with a folder and a control socket of its own.
func StartAgent(t *testing.T, args ...string) *Agent {
	t.Helper()
	a := &Agent{Dir: t.TempDir()}
	socket := filepath.Join(a.Dir, "control")
	a.Process = Start(t, append(args, "--dir", a.Dir, "--control", socket)...)
	a.client.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	return a
}

// Await asks until the agent is in a state, and returns its answer.
func Await[Status any](a *Agent, state string) Status {
	a.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		var of struct{ State string }
		var status Status
		text, err := a.state()
		if err == nil {
			err = errors.Join(json.Unmarshal(text, &of), json.Unmarshal(text, &status))
		}
		if err == nil && of.State == state {
			return status
		}
		if time.Now().After(end) {
			a.t.Fatalf("state %s, %v, want %s; %s", text, err, state, a.errors.String())
		}
	}
}

func (a *Agent) state() ([]byte, error) {
	answer, err := a.client.Get("http://agent/state")
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	return io.ReadAll(answer.Body)
}

// Post returns the status code that a request is answered with.
func (a *Agent) Post(path string) int {
	a.t.Helper()
	answer, err := a.client.Post("http://agent"+path, "", nil)
	if err != nil {
		a.t.Fatal(err)
	}
	answer.Body.Close()
	return answer.StatusCode
}
