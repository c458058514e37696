package policy

import (
	"testing"
	"time"
)

func TestWindowedForgetsWhatIsOlder(t *testing.T) {
	w := minmax{}
	same(t, "value of none", w.value(), 0)
	w.add(0, 5, time.Second)
	w.add(time.Second, 3, time.Second)
	near(t, "value of the last second", w.value(), 5)
	w.add(time.Second+1, 2, time.Second)
	near(t, "value when it is over", w.value(), 3)
	w.set(time.Second+2, 1)
	near(t, "value that was set", w.value(), 1)
}

// Samples that say nothing beside newer ones are not kept, so that many take no room.
func TestWindowedKeepsFew(t *testing.T) {
	for _, smallest := range []bool{true, false} {
		w := minmax{smallest: smallest}
		for i := range 10 {
			w.add(time.Duration(i), 5, time.Second)
		}
		same(t, "samples kept of equal ones", len(w.samples), 1)
	}
}
