package relay

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"ncp-testbed/internal/plan"
)

// MaxRequestBytes is ample for a trace in JSON.
const MaxRequestBytes = 16 << 20

// Control serves the relay's state and changes of its links:
//
//	GET  /state                                             what each direction has and did
//	POST /set?link=NAME&direction=ab|ba|both[&at_unix_ns=N] properties (plan.Change) to change, now or then;
//	                                                        answered when it is done
//
// Files named in a change are relative to the directory.
func Control(r *Relay, m *Meter, directory string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /state", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"state": "running", "granted": r.Granted(), "ring_drops": r.RingDrops(), "links": m.Results()})
	})
	mux.HandleFunc("POST /set", func(w http.ResponseWriter, q *http.Request) {
		text, err := io.ReadAll(http.MaxBytesReader(w, q.Body, MaxRequestBytes))
		if err != nil {
			refuse(w, err)
			return
		}
		var body plan.Change
		if err := json.Unmarshal(text, &body); err != nil {
			refuse(w, err)
			return
		}
		change, err := body.Resolve(directory)
		if err != nil {
			refuse(w, err)
			return
		}
		query := q.URL.Query()
		link, direction := query.Get("link"), query.Get("direction")
		at := int64(0)
		if text := query.Get("at_unix_ns"); text != "" {
			if at, err = strconv.ParseInt(text, 10, 64); err != nil || at <= 0 {
				refuse(w, fmt.Errorf("at_unix_ns: %q, want Unix time in nanoseconds", text))
				return
			}
		}
		applied, err := r.Set(link, direction, change, at)
		if err != nil {
			refuse(w, err)
			return
		}
		answer(w, map[string]any{"link": link, "direction": direction, "applied_unix_ns": applied})
	})
	return mux
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
