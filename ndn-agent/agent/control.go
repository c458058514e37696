package agent

import (
	"net/http"
	"sync"

	"ncp-testbed/internal/controlsocket"
	"ncp-testbed/internal/timing"
	"ncp-testbed/ndn-agent/config"
)

// Status is the answer to GET /state.
type Status struct {
	State         string      `json:"state"`
	Error         string      `json:"error"` // in state waiting: what it waits for
	Node          string      `json:"node"`
	Role          string      `json:"role"`
	Session       string      `json:"session"`
	Bytes         uint64      `json:"bytes"` // that a consumer has
	Segments      uint64      `json:"segments"`
	StartedUnixNS timing.Unix `json:"started_unix_ns"` // when the first Interest was sent; 0: not yet
	Warnings      []string    `json:"warnings"`
}

// control answers on the agent's socket.
type control struct {
	server *http.Server
	start  chan struct{} // closed by POST /start

	mu       sync.Mutex
	status   Status
	progress func() (bytes, segments uint64) // nil: none
}

func serveControl(path string, p *config.Plan) (*control, error) {
	c := &control{
		start:  make(chan struct{}),
		status: Status{State: controlsocket.Waiting, Node: p.Node.Host, Role: p.Node.Role, Session: p.Session, Warnings: []string{}},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /state", controlsocket.Answered(c.handleState))
	mux.HandleFunc("POST /start", controlsocket.Answered(c.handleStart))
	var err error
	c.server, err = controlsocket.Serve(path, mux)
	return c, err
}

func (c *control) close() { c.server.Close() }

func (c *control) set(state, message string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status.State, c.status.Error = state, message
}

func (c *control) observe(progress func() (bytes, segments uint64)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.progress = progress
}

func (c *control) started(at timing.Unix) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status.StartedUnixNS = at
}

func (c *control) handleState(*http.Request) (any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.progress != nil {
		c.status.Bytes, c.status.Segments = c.progress()
	}
	return c.status, nil
}

func (c *control) handleStart(*http.Request) (any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.status.Role != config.Consumer {
		return nil, controlsocket.Refused(controlsocket.CodeConflict, "a %s starts by itself", c.status.Role)
	}
	if c.status.State != controlsocket.Ready {
		return nil, controlsocket.Refused(controlsocket.CodeConflict, "the agent is %s, not %s", c.status.State, controlsocket.Ready)
	}
	c.status.State = controlsocket.Running
	close(c.start)
	return struct{}{}, nil
}
