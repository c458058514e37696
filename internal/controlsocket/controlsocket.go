// Package controlsocket is the HTTP server on a Unix socket by which a runner talks
// to an agent, or to the relay (docs/contracts.md).
package controlsocket

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"ncp-testbed/internal/timing"
)

// The states of an agent in the answer to GET /state.
const (
	Waiting = "waiting" // for its addresses
	Ready   = "ready"   // sockets are open
	Running = "running"
	Done    = "done"
	Failed  = "failed"
)

// Bounds of a request, whose client need not be the runner: the runner's come
// at once, and those to an agent have no body.
const (
	maxRequestBytes = 16 << 10
	requestTimeout  = 5 * time.Second
	idleTimeout     = time.Minute
)

// Serve answers an agent's runner, whose requests are small, see [ServeBodies].
func Serve(path string, handler http.Handler) (*http.Server, error) {
	return ServeBodies(path, handler, maxRequestBytes)
}

// ServeBodies answers on a Unix socket that its owner alone can reach, in place of one
// that an earlier process left, until the server is closed. A request's body has at most
// maxBodyBytes.
func ServeBodies(path string, handler http.Handler, maxBodyBytes int64) (*http.Server, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		listener.Close()
		return nil, err
	}
	server := &http.Server{
		Handler:        http.MaxBytesHandler(handler, maxBodyBytes),
		ReadTimeout:    requestTimeout,
		IdleTimeout:    idleTimeout,
		MaxHeaderBytes: maxRequestBytes,
		ErrorLog:       log.New(io.Discard, "", 0), // who writes nonsense is told so, and not the run's log
	}
	go server.Serve(listener)
	return server, nil
}

// Answered makes a handler of what answers a request, or has a reason to refuse it.
func Answered(do func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		answer, err := do(r)
		if err != nil {
			Refuse(w, err)
			return
		}
		Answer(w, answer)
	}
}

// Answer writes the answer to a request.
func Answer(w http.ResponseWriter, v any) { write(w, http.StatusOK, v) }

func write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client has gone
}

// Decode reads a request's body.
func Decode(r *http.Request, v any) error {
	if err := json.NewDecoder(r.Body).Decode(v); err != nil {
		return Refused(CodeInvalid, "%w", err)
	}
	return nil
}

// maxAhead is the most that something may be requested before its time.
const maxAhead = 2 * time.Second

// At returns the time in a request, or 0 without one.
func At(r *http.Request) (timing.Unix, error) {
	text := r.URL.Query().Get("at_unix_ns")
	if text == "" {
		return 0, nil
	}
	ns, err := strconv.ParseInt(text, 10, 64)
	at := timing.Unix(ns)
	if err != nil || at <= 0 || at.Sub(timing.Now()) > maxAhead {
		return at, Refused(CodeInvalid, "at_unix_ns: %q, want Unix time in nanoseconds that is at most %v ahead", text, maxAhead)
	}
	return at, nil
}

// SleepUntil returns at a time, or with a refusal if the client has gone before.
func SleepUntil(ctx context.Context, at timing.Unix) error {
	wait := at.Sub(timing.Now())
	if wait <= 0 {
		return nil
	}
	select {
	case <-ctx.Done():
		return Gone(ctx)
	case <-time.After(wait):
		return nil
	}
}

// Gone refuses what waits for a client whose request's context has ended.
func Gone(ctx context.Context) error {
	return Refused(CodeConflict, "the client has gone: %w", ctx.Err())
}
