package controlsocket

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"ncp-testbed/internal/timing"
)

// A refusal comes to the client with its code, however it was wrapped, and each code has a status.
func TestRefusals(t *testing.T) {
	answers := map[string]error{
		"/invalid":  Refused(CodeInvalid, "ms=%d, want 1", 0),
		"/unknown":  fmt.Errorf("host h1: %w", Refused(CodeUnknown, "there is no program %q", "p")),
		"/conflict": Refused(CodeConflict, "the agent is %s", Waiting),
		"/failed":   errors.New("no space left"),
		"/done":     nil,
	}
	mux := http.NewServeMux()
	for path, err := range answers {
		mux.HandleFunc("POST "+path, Answered(func(*http.Request) (any, error) { return 7, err }))
	}
	socket := filepath.Join(t.TempDir(), "control")
	server, err := Serve(socket, mux)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	client := NewClient(socket)
	t.Cleanup(client.Close)
	for path, want := range map[string]Refusal{
		"/invalid":  {Code: CodeInvalid, Message: "ms=0, want 1"},
		"/unknown":  {Code: CodeUnknown, Message: `host h1: there is no program "p"`},
		"/conflict": {Code: CodeConflict, Message: "the agent is waiting"},
		"/failed":   {Code: CodeFailed, Message: "no space left"},
		"/nowhere":  {Code: CodeFailed, Message: "404 Not Found: 404 page not found"},
	} {
		err := client.Do(t.Context(), "POST", path, nil, nil)
		got, ok := errors.AsType[*Refusal](err)
		if !ok || *got != want {
			t.Errorf("%s: %v, want %+v", path, err, want)
		}
	}
	answer := 0
	if err := client.Do(t.Context(), "POST", "/done", map[string]int{}, &answer); err != nil || answer != 7 {
		t.Errorf("%d (%v), want 7", answer, err)
	}
	server.Close()
	if err := client.Do(t.Context(), "POST", "/done", nil, nil); err == nil || errors.As(err, new(*Refusal)) {
		t.Errorf("%v, want an error of the connection", err)
	}
	for code, status := range statuses {
		if status < 400 {
			t.Errorf("%s is answered with %d", code, status)
		}
	}
}

// Who has gone is not waited for.
func TestSleepUntilEndsWithTheClient(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	begun := time.Now()
	if err := SleepUntil(ctx, timing.Of(begun.Add(time.Minute))); err == nil || time.Since(begun) > 30*time.Second {
		t.Errorf("%v after %v", err, time.Since(begun))
	}
	if err := SleepUntil(t.Context(), 0); err != nil {
		t.Error(err)
	}
}
