package sim

import (
	"fmt"
	"reflect"
	"testing"
	"time"
)

// What one session does over links of its own is the same whoever else is in
// the run.
func TestSessionsApartDoNotMeet(t *testing.T) {
	t.Parallel()
	one := func(n int) Run {
		all := Run{Seed: 3, Until: 20 * time.Second}
		for i := range n {
			run := transferOver([]path{{1024, 50, .01}, {128, 200, 0}}, tinyQueue, "delivery-rate", 4<<20)
			x := run.Transfers[0]
			x.Name, x.Start = fmt.Sprint("s", i), time.Duration(i)*37*time.Millisecond
			for c := range x.Paths {
				run.Links[c].Name = fmt.Sprintf("%s.%d", x.Name, c)
				x.Paths[c] = []string{run.Links[c].Name}
			}
			all.Transfers, all.Links = append(all.Transfers, x), append(all.Links, run.Links...)
		}
		return all
	}
	alone, among := simulate(t, one(1)), simulate(t, one(40))
	// Both runs end with the last transfer: what was delivered by then, and when, counts.
	a, b := alone.Transfers[0], among.Transfers[0]
	if a.ReceivedAt != b.ReceivedAt || a.AckedAt != b.AckedAt || a.Received != b.Received {
		t.Errorf("alone %v, %v; among 40 %v, %v", a.ReceivedAt, a.AckedAt, b.ReceivedAt, b.AckedAt)
	}
	if !reflect.DeepEqual(alone.since(0)[10].Sender, among.since(0)[10].Sender) {
		t.Error("its state after a second differs")
	}
}
