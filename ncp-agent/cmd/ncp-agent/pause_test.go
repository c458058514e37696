package main

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

// A paused connection of the receiver gets nothing until it resumes by itself,
// while the other one goes on, whatever the transport.
func TestPauseRead(t *testing.T) {
	for _, transport := range []string{"udp", "tcp"} {
		t.Run(transport, func(t *testing.T) {
			plan := writePlan(t, 1<<40, "http://127.0.0.1:1", func(session map[string]any) { session["transport"] = transport })
			receiver := start(t, "receiver", plan)
			if await(receiver, "ready"); receiver.Post("/pause-read?connection=1") != http.StatusBadRequest {
				t.Error("paused for no time")
			}
			sender := start(t, "sender", plan)
			await(sender, "ready")
			sender.Post("/start")
			received := func() (first, second uint64) {
				s := await(receiver, "running")
				return s.Connections[0].Received, s.Connections[1].Received
			}
			for second := uint64(0); second == 0; _, second = received() {
				time.Sleep(10 * time.Millisecond)
			}
			for path, want := range map[string]int{
				"/pause-read?connection=2&ms=0":       http.StatusBadRequest,
				"/pause-read?connection=2&ms=1e99":    http.StatusBadRequest,
				"/pause-read?connection=2&ms=NaN":     http.StatusBadRequest,
				"/pause-read?connection=3&ms=10":      http.StatusNotFound,
				"/pause-read?connection=two&ms=10":    http.StatusBadRequest,
				"/pause-read?connection=1&ms=1.5":     http.StatusOK,
				"/pause-read?connection=2&ms=1000000": http.StatusBadRequest,

				"/pause-read?connection=2&ms=1&at_unix_ns=soon":                http.StatusBadRequest,
				"/pause-read?connection=2&ms=1&at_unix_ns=9000000000000000000": http.StatusBadRequest,
			} {
				if got := receiver.Post(path); got != want {
					t.Errorf("%s answered %d, want %d", path, got, want)
				}
			}
			const pause = time.Second
			begun := time.Now().Add(50 * time.Millisecond)
			at := fmt.Sprintf("/pause-read?connection=2&ms=1000&at_unix_ns=%d", begun.UnixNano())
			if code := receiver.Post(at); code != http.StatusOK {
				t.Errorf("pausing answered %d", code)
			}
			if time.Now().Before(begun) {
				t.Error("it was paused before its time")
			}
			first, second := received()
			for resumed := second; resumed == second; _, resumed = received() {
				time.Sleep(5 * time.Millisecond)
			}
			if waited := time.Since(begun); waited < pause {
				t.Errorf("packets arrived %v after the pause of %v began", waited, pause)
			}
			if now, _ := received(); now <= first {
				t.Error("the other connection stood still too")
			}
		})
	}
}
