package telemetry

import (
	"testing"
	"time"
)

// A rate is over the youngest value that is a second old; until there is one, since the beginning.
func TestLastSecond(t *testing.T) {
	var forgotten []int
	l := LastSecond[int]{Forget: func(value int) { forgotten = append(forgotten, value) }}
	for _, step := range []struct {
		now, at   time.Duration
		value     int
		forgotten int
	}{
		{200 * time.Millisecond, 0, 0, 0},
		{1199 * time.Millisecond, 0, 0, 0},
		{1200 * time.Millisecond, 200 * time.Millisecond, 1, 0},
		{2199 * time.Millisecond, 1199 * time.Millisecond, 2, 1},
		{9 * time.Second, 2199 * time.Millisecond, 4, 3},
	} {
		value, at := l.Before(step.now)
		if value != step.value || at != step.at || len(forgotten) != step.forgotten {
			t.Errorf("at %v: %d of %v, %d forgotten", step.now, value, at, len(forgotten))
		}
		l.Add(step.now, len(l.past)+len(forgotten)+1)
	}
}
