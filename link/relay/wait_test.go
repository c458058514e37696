package relay

import (
	"testing"

	"ncp-testbed/link/model"
)

func TestAdvanceIsWhatMostWakesTake(t *testing.T) {
	var a advance
	for i := range 10_000 {
		late := model.Time(8_000)
		if i%20 == 0 {
			late = 1_000_000 // held up
		}
		a.learn(late)
	}
	if a < 7_000 || a > 10_000 {
		t.Errorf("advance %d ns for wakes of 8000 ns", a)
	}
	for range 1000 {
		a.learn(1_000_000)
	}
	if a != maxAdvance {
		t.Errorf("advance %d ns, want the bound", a)
	}
	for range 10_000 {
		a.learn(0)
	}
	if a != 0 {
		t.Errorf("advance %d ns when wakes take nothing", a)
	}
}
