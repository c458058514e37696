package linkmodel

import (
	"slices"
	"testing"
	"time"
)

// at once: n frames of 1000 bytes at time 0.
func atOnce(n int) []arrival { return slices.Repeat([]arrival{{0, 1000}}, n) }

func frames(deliveries []Delivery[int]) []int {
	var all []int
	for _, d := range deliveries {
		all = append(all, d.Frame)
	}
	return all
}

func TestFullQueueDropsTheTailOrTheHead(t *testing.T) {
	for mode, want := range map[string][]int{
		QueueDropTail: {0, 1, 2},
		QueueDropHead: {7, 8, 9},
	} {
		got := pass(Properties{RateBPS: 1e6, DelayMS: 6, Queue: Queue{mode, 3}}, 1, "k", atOnce(10), 0, nil)
		if !slices.Equal(frames(got.delivered), want) {
			t.Errorf("%s: delivered %v, want %v", mode, frames(got.delivered), want)
		}
	}
}

func TestBackPressureRefusesUntilThereIsRoom(t *testing.T) {
	d := NewPipe(Properties{FramesPPS: 100, DelayMS: 50, Queue: Queue{Mode: QueueBackPressure, Packets: 2}},
		1, "k", AB, 0, Hooks[int]{})
	now := time.Duration(0)
	sent := 0
	var delivered []Delivery[int]
	for sent < 20 {
		if d.Push(sent, 1000, now) {
			sent++
			continue
		}
		if d.Room() {
			t.Fatal("there is room, but the frame was refused")
		}
		next, ok := d.Next()
		if !ok {
			t.Fatal("a full queue has nothing to do")
		}
		now = next
		for f, ok := d.Pop(now); ok; f, ok = d.Pop(now) {
			delivered = append(delivered, *f)
		}
	}
	// Two wait at any time, so the last is taken when 18 have left at 100 frames/s.
	if now != 180*ms {
		t.Errorf("the last frame was taken at %d ms, want 180", now/ms)
	}
	if c := d.Counts(); c.QueueFull != 0 || c.In != 20 {
		t.Errorf("counts %+v, want 20 in and none dropped", c)
	}
	for i, f := range delivered {
		if want := time.Duration(i+1)*10*ms + 50*ms; abs(f.Due-want) > 100 {
			t.Errorf("frame %d is due at %d, want %d", i, f.Due, want)
		}
	}
}

// Twice the rate for 20 s: CoDel has to bring the standing delay down to near its target, drop-tail fills up.
func TestCoDelKeepsTheQueueShort(t *testing.T) {
	arrivals := make([]arrival, 20_000)
	for i := range arrivals {
		arrivals[i] = arrival{time.Duration(i) * ms, 1000}
	}
	// Unresponsive traffic of 1.05 times the rate.
	p := Properties{FramesPPS: 950, Queue: Queue{Mode: QueueCoDel, Packets: 1000}}
	wait := func(p Properties) time.Duration {
		got := pass(p, 1, "k", arrivals, 0, nil)
		var waits []time.Duration
		for _, d := range got.delivered[len(got.delivered)/2:] {
			waits = append(waits, d.Due-d.Arrival)
		}
		slices.Sort(waits)
		return waits[len(waits)/2]
	}
	controlled := wait(p)
	p.Queue.Mode = QueueDropTail
	uncontrolled := wait(p)
	if controlled > 30*ms || uncontrolled < 400*ms {
		t.Errorf("frames wait %d ms with CoDel and %d ms without, want near 5 and near 1000", controlled/ms, uncontrolled/ms)
	}
}

func TestCoDelLeavesAShortBurstAlone(t *testing.T) {
	got := pass(Properties{FramesPPS: 1000, Queue: Queue{Mode: QueueCoDel}}, 1, "k", atOnce(90), 0, nil)
	if len(got.delivered) != 90 {
		t.Errorf("%d of 90 frames delivered of a burst that is gone within the interval", len(got.delivered))
	}
}

// The control law of RFC 8289: under a queue that stays, drops come at intervals that shrink by 1/√n.
func TestCoDelDropsEverFaster(t *testing.T) {
	var c codel
	var drops []time.Duration
	for now := time.Duration(0); now < 1000*ms; now += ms / 10 {
		if c.drop(now, 50*ms, 1<<20) {
			drops = append(drops, now)
		}
	}
	// The first after one interval of 100 ms above target, then 100, 100/√2, 100/√3 … ms apart.
	want := []float64{100, 200, 270.7, 328.4, 378.4}
	for i, w := range want {
		if abs(drops[i]-time.Duration(w*nsPerMs)) > ms/2 {
			t.Errorf("drop %d at %d µs, want %v ms", i, drops[i]/1000, w)
		}
	}
}

// A sender that waits for room is woken with less than half of the queue left.
func TestBackPressureWakesWhenHalfEmpty(t *testing.T) {
	for packets, want := range map[int]int{1: 0, 2: 0, 3: 1, 103: 51} {
		p := Properties{FramesPPS: 100, DelayMS: 50, Queue: Queue{QueueBackPressure, packets}}
		d := NewPipe(p, 1, "k", AB, 0, Hooks[int]{})
		for i := 0; d.Push(i, 1000, 0); i++ {
		}
		for now := time.Duration(0); !d.Writable(); now += 10 * ms {
			d.Pop(now)
		}
		if left := d.queue.count; left != want {
			t.Errorf("%d packets: woken with %d left, want %d", packets, left, want)
		}
	}
}
