package relay

import (
	"encoding/json"
	"io"
	"net/http"

	"ncp-testbed/internal/controlsocket"
	"ncp-testbed/internal/linkmodel"
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
	mux.HandleFunc("GET /state", controlsocket.Answered(func(*http.Request) (any, error) {
		return map[string]any{"state": "running", "granted": r.Privileges(), "ring_drops": r.RingDrops(), "links": m.Results()}, nil
	}))
	mux.HandleFunc("POST /set", controlsocket.Answered(func(q *http.Request) (any, error) {
		text, err := io.ReadAll(http.MaxBytesReader(nil, q.Body, MaxRequestBytes))
		var body plan.Change
		if err == nil {
			err = json.Unmarshal(text, &body)
		}
		if err != nil {
			return nil, controlsocket.Refused(controlsocket.CodeInvalid, "%w", err)
		}
		change, err := body.Resolve(directory)
		if err != nil {
			return nil, controlsocket.Refused(controlsocket.CodeInvalid, "%w", err)
		}
		at, err := controlsocket.At(q)
		if err != nil {
			return nil, err
		}
		query := q.URL.Query()
		link, direction := query.Get("link"), linkmodel.Direction(query.Get("direction"))
		applied, err := r.Set(q.Context(), link, direction, change, at)
		if err != nil {
			return nil, err
		}
		return map[string]any{"link": link, "direction": direction, "applied_unix_ns": applied}, nil
	}))
	return mux
}
