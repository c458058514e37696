package relay

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"ncp-testbed/link/plan"
)

// maxRequestBytes is ample for a schedule, or a trace in JSON.
const maxRequestBytes = 16 << 20

// Control serves the relay's state and changes of its links:
//
//	GET  /state                               what each direction has and did
//	POST /set?link=NAME&direction=ab|ba|both  properties (model.Change) to change now
//	POST /schedule                            [{at_unix_ns, link, direction, set}] to change then
//	GET  /changes                             all changes, asked and applied
//
// Files named in a change are relative to the directory.
func Control(r *Relay, m *Meter, directory string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /state", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"state": "running", "granted": r.Granted(), "ring_drops": r.RingDrops(), "links": m.Results()})
	})
	mux.HandleFunc("GET /changes", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"changes": r.Changes()})
	})
	mux.HandleFunc("POST /set", func(w http.ResponseWriter, q *http.Request) {
		text, err := io.ReadAll(http.MaxBytesReader(w, q.Body, maxRequestBytes))
		if err != nil {
			refuse(w, err)
			return
		}
		change, err := plan.ParseChange(text, directory)
		if err != nil {
			refuse(w, err)
			return
		}
		link, direction := q.URL.Query().Get("link"), q.URL.Query().Get("direction")
		applied, err := r.Set(link, direction, change)
		if err != nil {
			refuse(w, err)
			return
		}
		answer(w, map[string]any{"link": link, "direction": direction, "applied_unix_ns": applied})
	})
	mux.HandleFunc("POST /schedule", func(w http.ResponseWriter, q *http.Request) {
		changes, err := parseSchedule(http.MaxBytesReader(w, q.Body, maxRequestBytes), directory)
		if err == nil {
			err = r.Schedule(changes)
		}
		if err != nil {
			refuse(w, err)
			return
		}
		answer(w, map[string]any{"scheduled": len(changes)})
	})
	return mux
}

func parseSchedule(body io.Reader, directory string) ([]Change, error) {
	decoder := json.NewDecoder(body)
	decoder.DisallowUnknownFields()
	var entries []struct {
		AtUnixNS  int64           `json:"at_unix_ns"`
		Link      string          `json:"link"`
		Direction string          `json:"direction"`
		Set       json.RawMessage `json:"set"`
	}
	if err := decoder.Decode(&entries); err != nil {
		return nil, err
	}
	changes := make([]Change, 0, len(entries))
	for i, e := range entries {
		set, err := plan.ParseChange(e.Set, directory)
		if err != nil {
			return nil, fmt.Errorf("[%d].set: %w", i, err)
		}
		changes = append(changes, Change{Link: e.Link, Direction: e.Direction, AtUnixNS: e.AtUnixNS, Set: set})
	}
	return changes, nil
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value) // the client has gone
}

func refuse(w http.ResponseWriter, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": err.Error()})
}
