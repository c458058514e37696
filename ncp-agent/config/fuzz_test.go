package config

import (
	"encoding/json"
	"strings"
	"testing"

	"ncp-testbed/internal/plan"
	"ncp-testbed/ncp-agent/metrics"
)

// Whatever a plan says, it is refused with the file's name, or gives a configuration that a session takes.
func FuzzSessions(f *testing.F) {
	text, err := json.Marshal(good())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"schema": 2, "run": "r", "scenario": "s", "sessions": [null]}`))
	f.Add([]byte("{\n\"sessions\": 1e999}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var plans []*Plan
		p, err := plan.ParseTraffic(text, "plan.json")
		if err == nil {
			plans, err = Sessions(p)
		}
		if err != nil {
			if !strings.HasPrefix(err.Error(), "plan.json: ") {
				t.Errorf("%v: does not name the file", err)
			}
			return
		}
		for _, p := range plans {
			if cfg := p.Session.Config(metrics.Sender); len(cfg.ClientIDs) == 0 || cfg.AckInterval <= 0 || cfg.TimeoutCheckInterval <= 0 || cfg.MTUBytes == 0 {
				t.Errorf("taken: %+v", cfg)
			}
		}
	})
}
