package telemetry

import (
	"testing"
	"time"
)

func TestStepsAreTheSameForAll(t *testing.T) {
	base := time.Unix(1_800_000_000, 0)
	for _, c := range []struct{ after, want time.Duration }{
		{0, 100 * time.Millisecond}, {time.Nanosecond, 100 * time.Millisecond},
		{99 * time.Millisecond, 100 * time.Millisecond}, {100 * time.Millisecond, 200 * time.Millisecond},
	} {
		if got := NextStep(base.Add(c.after), 100*time.Millisecond).Sub(base); got != c.want {
			t.Errorf("after %v: step at %v, want %v", c.after, got, c.want)
		}
	}
}
