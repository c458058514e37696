package sim

import (
	"testing"
	"time"

	"ncp-testbed/internal/linkmodel"
)

// What leaves a full queue has a transfer act only when something can come of
// it: a queue is half empty, or a connection does not wait for one.
func TestFullQueuesLeaveTransfersAlone(t *testing.T) {
	run := transferOver([]path{{1000, 50, 0}, {1000, 50, 0}}, tinyQueue, "nkp24", 1<<20)
	for i := range run.Links {
		run.Links[i].AB.Queue = linkmodel.Queue{Mode: linkmodel.QueueBackPressure, Packets: 100}
	}
	w, err := newWorld(&run)
	if err != nil {
		t.Fatal(err)
	}
	p := w.parts[0]
	sender, d := w.transfers[0].ends[0], p.network.directions[0]
	for range 100 {
		d.Push(p.network.packet(p.network.storage(), sender.peer, 0, nil), 1000, 0)
	}
	touched := func() bool {
		p.network.moved(d)
		_, ok := p.touched.take()
		return ok
	}
	sender.stopped[0] = true
	if !touched() {
		t.Error("the other connection does not wait")
	}
	sender.stopped[1] = true
	if touched() {
		t.Error("both connections wait for full queues")
	}
	for left := 1; left <= 51; left++ {
		d.Pop(time.Duration(left) * time.Duration(time.Millisecond))
		if woken := touched(); woken != (left > 50) {
			t.Fatalf("%d packets wait; wakes the sender: %v", 100-left, woken)
		}
	}
}
