package agent

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"ncp-testbed/internal/controlsocket"
	"ncp-testbed/internal/timing"
	"ncp-testbed/ncp-agent/endpoint"
	"ncp-testbed/ncp-agent/metrics"
	"ncp-testbed/ncp-agent/session"
)

// maxPauseMS is far above what an experiment pauses for.
const maxPauseMS = 600_000

// Status is the answer to GET /state.
type Status struct {
	State   string `json:"state"`
	Error   string `json:"error"` // in state waiting: what it waits for
	Role    string `json:"role"`
	Session string `json:"session"`
	Bytes   uint64 `json:"bytes"` // acknowledged, or read
	// StartedUnixNS is when the session was established; 0: not yet.
	StartedUnixNS timing.Unix                `json:"started_unix_ns"`
	Connections   []metrics.ConnectionResult `json:"connections"`
	Warnings      []string                   `json:"warnings"`
}

// control is the agent's HTTP server on a Unix socket.
type control struct {
	server *http.Server
	start  chan struct{} // closed by POST /start

	mu     sync.Mutex
	status Status
	links  []string
	driver *endpoint.Driver
	stats  session.Stats
}

// serveControl answers on a Unix socket.
func serveControl(path, role, name string, links []string) (*control, error) {
	c := &control{
		start: make(chan struct{}), links: links,
		status: Status{State: controlsocket.Waiting, Role: role, Session: name, Warnings: []string{}},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /state", controlsocket.Answered(c.handleState))
	mux.HandleFunc("POST /start", controlsocket.Answered(c.handleStart))
	mux.HandleFunc("POST /pause-read", controlsocket.Answered(c.pauseRead))
	var err error
	c.server, err = controlsocket.Serve(path, mux)
	return c, err
}

func (c *control) close() { c.server.Close() }

// set changes the state; a driver, once given, stays.
func (c *control) set(state, message string, d *endpoint.Driver) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status.State, c.status.Error = state, message
	if d != nil {
		c.driver = d
		c.status.Warnings = append(c.status.Warnings, d.Warnings()...)
	}
}

// started records when the session was established.
func (c *control) started(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status.StartedUnixNS = timing.Of(at)
}

func (c *control) handleState(*http.Request) (any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.driver != nil {
		c.driver.Stats(&c.stats)
		c.status.Connections = metrics.ConnectionResults(&c.stats, c.links)
		c.status.Bytes = c.stats.ReadBytes
		if c.status.Role == Sender {
			c.status.Bytes = c.stats.AckedBytes
		}
	}
	return c.status, nil
}

func (c *control) handleStart(*http.Request) (any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.status.Role != Sender {
		return nil, controlsocket.Refused(controlsocket.CodeConflict, "a receiver starts by itself")
	}
	if c.status.State != controlsocket.Ready {
		return nil, controlsocket.Refused(controlsocket.CodeConflict, "the agent is %s, not %s", c.status.State, controlsocket.Ready)
	}
	c.status.State = controlsocket.Running
	close(c.start)
	return struct{}{}, nil
}

// pauseRead answers POST /pause-read?connection=2&ms=1000, at once or at at_unix_ns=N, when it is done. Reading
// resumes by itself.
func (c *control) pauseRead(r *http.Request) (any, error) {
	text := r.URL.Query().Get("ms")
	ms, err := strconv.ParseFloat(text, 64)
	if err != nil || !(ms >= 1 && ms <= maxPauseMS) {
		return nil, controlsocket.Refused(controlsocket.CodeInvalid, "ms=%s, want 1 to %d milliseconds", text, maxPauseMS)
	}
	text = r.URL.Query().Get("connection")
	index, err := strconv.Atoi(text)
	if err != nil {
		return nil, controlsocket.Refused(controlsocket.CodeInvalid, "connection=%s, want 1 or more", text)
	}
	c.mu.Lock()
	d := c.driver
	c.mu.Unlock()
	if d == nil {
		return nil, controlsocket.Refused(controlsocket.CodeConflict, "the sockets are not open yet")
	}
	at, err := controlsocket.At(r)
	if err != nil {
		return nil, err
	}
	if err := controlsocket.SleepUntil(r.Context(), at); err != nil {
		return nil, err
	}
	if err := d.PauseReading(index-1, time.Duration(ms*float64(time.Millisecond))); err != nil {
		return nil, controlsocket.Refused(controlsocket.CodeUnknown, "%w", err)
	}
	return map[string]timing.Unix{"applied_unix_ns": timing.Now()}, nil
}
