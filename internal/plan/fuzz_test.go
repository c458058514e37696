package plan

import (
	"strings"
	"testing"
	"time"

	"ncp-testbed/internal/linkmodel"
)

// Whatever a plan says, it is refused with its path, or frames go through its links.
func FuzzParse(f *testing.F) {
	plan := func(keys string) []byte {
		return []byte(`{"schema": 2, "run": "r", "scenario": "s", "links": [` + link(keys) + `], "telemetry": {"interval_ms": 100}}`)
	}
	f.Add(plan(`, "queue": {"mode": "backpressure", "packets": 103}, "delay_ms": 50.0, "loss": 0.01`))
	f.Add(plan(`, "queue": {"mode": "codel", "packets": 103}, "jitter_ms": 5, "ba": {"delay_ms": 5, "frames_pps": 10}`))
	f.Add(plan(`, "queue": {"mode": "droptail", "packets": 9}, "trace_ms": [1, 4], "reorder": 0.1, "duplicate": 0.1, "corrupt": 0.1`))
	f.Add(plan(`, "trace_file": "/dev/zero", "jitter_file": "plan_test.go"`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := parse(text, "plan.json")
		if err != nil {
			if !strings.HasPrefix(err.Error(), "plan.json: ") {
				t.Errorf("error %v, want one that names the file", err)
			}
			return
		}
		if !(p.Telemetry.Interval() > 0) {
			t.Errorf("an interval of %v", p.Telemetry.Interval())
		}
		for i := range p.Links {
			for d, name := range linkmodel.Directions {
				direction := linkmodel.NewPipe(p.Links[i].EndToEnd(d), p.Links[i].Seed, p.Links[i].Name, name, 0, linkmodel.Hooks[int]{
					Drop: func(int, linkmodel.Cause) {}, Copy: func(frame int) (int, bool) { return frame, true },
				})
				for frame := range 5 {
					direction.Push(frame, 1500, time.Duration(frame)*time.Millisecond)
				}
				for last := time.Duration(0); ; {
					next, ok := direction.Next()
					if !ok {
						break
					}
					if next < last {
						t.Fatalf("link %d %s: time goes back from %d to %d", i, name, last, next)
					}
					last = next
					direction.Pop(next)
				}
			}
		}
	})
}
