package linkmodel

import (
	"testing"
	"time"
)

// The relay's garbage collector must have nothing to do while frames flow.
func TestFramesInFlowAllocateNothing(t *testing.T) {
	for name, p := range map[string]Properties{
		"delay": asked(`"delay_ms": 50, "jitter_ms": 5, "loss": 0.1, "corrupt": 0.1, "reorder": 0.1`),
		"rate":  {RateBPS: 1e8, DelayMS: 50, Queue: Queue{Mode: QueueCoDel, Packets: 100}},
		"trace": {Trace: Trace{at: []time.Duration{ms, 2 * ms}}, DelayMS: 50, Queue: Queue{Packets: 100}},
	} {
		d := NewPipe(p, 1, "k", AB, 0, Hooks[int]{
			Drop: func(int, Cause) {}, Copy: func(frame int) (int, bool) { return frame, true },
		})
		now := time.Duration(0)
		step := func() {
			now += ms / 2
			d.Push(1, 1000, now)
			for _, ok := d.Pop(now); ok; _, ok = d.Pop(now) {
			}
			d.Next()
		}
		for range 1000 {
			step() // until queue and line are as long as they get
		}
		if n := testing.AllocsPerRun(1000, step); n != 0 {
			t.Errorf("%s: %v allocations for each frame", name, n)
		}
	}
}

func BenchmarkFrame(b *testing.B) {
	d := NewPipe(asked(`"delay_ms": 50, "loss": 0.01`), 1, "k", AB, 0, Hooks[int]{Drop: func(int, Cause) {}})
	now := time.Duration(0)
	for b.Loop() {
		now += ms / 100
		d.Push(1, 1000, now)
		for _, ok := d.Pop(now); ok; _, ok = d.Pop(now) {
		}
		d.Next()
	}
}
