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

// Whenever sampling begins, samples fall on steps, but for the one at the end.
func TestAtStepsSamplesAtSteps(t *testing.T) {
	const interval = 200 * time.Millisecond
	time.Sleep(time.Until(NextStep(time.Now(), interval).Add(interval / 2)))
	stop, at := make(chan struct{}), []time.Time{}
	AtSteps(interval, stop, func() {
		if at = append(at, time.Now()); len(at) == 5 {
			close(stop)
		}
	})
	earliest := interval
	for _, one := range at[:5] {
		earliest = min(earliest, one.Sub(one.Truncate(interval)))
	}
	if earliest > interval/8 {
		t.Errorf("no sample of %v is near a step of %v", at, interval)
	}
}
