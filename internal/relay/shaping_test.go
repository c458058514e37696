package relay_test

import (
	"testing"

	"ncp-testbed/internal/test/testnet"
)

// Rate and queue in the middle: the probe sends half more than the rate, the queue drops the rest, and no frame
// waits longer than the queue is long.
func TestRateAndQueueInTheMiddle(t *testing.T) {
	const rate = 8790016
	shaped := func(name, mode string, more map[string]any) testnet.Link {
		plan := map[string]any{
			"delay_ms": 10, "rate_bps": rate, "queue": map[string]any{"mode": mode, "packets": 20}, "burst_bytes": 0,
		}
		for key, value := range more {
			plan[key] = value
		}
		return testnet.Link{Name: name, Plan: plan}
	}
	// One opportunity of 1504 bytes each ms.
	trace := shaped("trace", "droptail", map[string]any{"trace_ms": []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}})
	r := start(t, shaped("tail", "droptail", nil), shaped("head", "drophead", nil), shaped("codel", "codel", nil), trace)
	for _, m := range r.probe(t, 0.5) {
		if m.RateBPS == nil || m.DelayMS == nil {
			t.Fatalf("%s %s: nothing measured: %+v", m.Link, m.Direction, m)
		}
		asked := float64(rate)
		if m.Link == "trace" {
			asked = 1504 * 8 * 1000
		}
		if *m.RateBPS > asked*1.01 || *m.RateBPS < asked*0.9 {
			t.Errorf("%s %s: rate %.0f, want %.0f", m.Link, m.Direction, *m.RateBPS, asked)
		}
		if m.Loss != 0 {
			t.Errorf("%s %s: what the queue dropped of the blast counts as loss: %+v", m.Link, m.Direction, m)
		}
	}
	r.stop()
	for _, link := range []string{"tail", "head", "codel"} {
		if result := r.result(t, link, "ab"); result.QueueDrops == 0 {
			t.Errorf("%s: no drops of a queue that was overrun: %+v", link, result)
		}
	}
}
