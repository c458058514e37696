package config

import (
	"strings"
	"testing"

	"ncp-testbed/internal/plan"
)

const good = `{"schema": 2, "run": "r", "scenario": "ndn", "seed": 1, "sessions": [{"name": "s1"}],
	"telemetry": {"interval_ms": 100, "url": "http://198.19.0.1:8086", "database": "d"},
	"ndn": {"prefix": "/file", "object_bytes": 1000, "segment_bytes": 100, "nodes": [
		{"host": "h1", "role": "ROLE",
		 "faces": [{"name": "f", "transport": "udp", "local": "198.18.1.1:6363", "remote": "198.18.1.2:6363", "mtu_bytes": 8800}],
		 "consumer": {"algorithm": "cubic", "rto_min_ms": 200}, "marking": {"mode": "nfd", "interval_ms": 100},
		 "routes": ROUTES}]}}`

// node is that of a plan on host h1.
func node(text []byte) (*Plan, error) {
	p, err := plan.ParseTraffic(text, "plan.json")
	if err != nil {
		return nil, err
	}
	return ofNode(p, "h1")
}

// Whatever a plan says, it is refused with the file's name, or gives a node that can be run.
func FuzzNode(f *testing.F) {
	for role, routes := range map[string]string{Consumer: "[]", Producer: "[]", Forwarder: `[{"prefix": "/file", "face": "f"}]`} {
		f.Add([]byte(strings.NewReplacer("ROLE", role, "ROUTES", routes).Replace(good)))
	}
	f.Add([]byte(`{"schema": 2, "ndn": {"nodes": [null]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := node(text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "plan.json: ") {
				t.Errorf("%v: does not name the file", err)
			}
			return
		}
		if len(p.Faces) == 0 || p.SegmentBytes <= 0 || p.ObjectBytes <= 0 || p.Freshness < 0 {
			t.Errorf("taken: %+v", p)
		}
		if p.Node.Role == Consumer && (p.Fetch.RTOMin <= 0 || p.Fetch.Lifetime <= 0) {
			t.Errorf("taken: %+v", p.Fetch)
		}
	})
}

func TestTheSeedsAreRead(t *testing.T) {
	text := strings.NewReplacer("ROLE", Forwarder, "ROUTES", `[{"prefix": "/file", "face": "f"}]`).Replace(good)
	if p, err := node([]byte(text)); err != nil || len(p.Routes) != 1 {
		t.Errorf("%+v, %v", p, err)
	}
}
