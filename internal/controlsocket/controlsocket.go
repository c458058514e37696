// Package controlsocket is the HTTP server on a Unix socket by which a runner talks
// to an agent, or to the relay (docs/contracts.md).
package controlsocket

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"os"
	"time"
)

// The states of an agent that GET /state tells.
const (
	Waiting = "waiting" // for its addresses
	Ready   = "ready"   // sockets are open
	Running = "running"
	Done    = "done"
	Failed  = "failed"
)

// Bounds of what somebody may ask, who need not be the runner: its requests
// come at once, and those to an agent have no body.
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
// so many bytes.
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
			Refuse(w, err.Error())
			return
		}
		Answer(w, answer)
	}
}

// Answer writes what was asked for.
func Answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(v)
}

// Refuse answers 409 and why.
func Refuse(w http.ResponseWriter, why string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusConflict)
	json.NewEncoder(w).Encode(map[string]string{"error": why})
}
