package telemetry

import (
	"slices"
	"time"
)

// LastSecond remembers a program's counters over the last second, for rates
// over that time. Times count from the beginning, when all counters were zero.
type LastSecond[T any] struct {
	// Forget, if set, gets each value that is no longer needed.
	Forget func(T)

	past []moment[T] // of the last second and one before, oldest first
}

type moment[T any] struct {
	at    time.Duration
	value T
}

// Before returns the youngest value that is a second old, and its time; or
// else the beginning: the zero value at 0. Older values are forgotten.
func (l *LastSecond[T]) Before(now time.Duration) (value T, at time.Duration) {
	for len(l.past) > 1 && now-l.past[1].at >= time.Second {
		if l.Forget != nil {
			l.Forget(l.past[0].value)
		}
		l.past = slices.Delete(l.past, 0, 1)
	}
	if len(l.past) > 0 && now-l.past[0].at >= time.Second {
		value, at = l.past[0].value, l.past[0].at
	}
	return value, at
}

// Add remembers a value at a time, not before that of an earlier call.
func (l *LastSecond[T]) Add(at time.Duration, value T) {
	l.past = append(l.past, moment[T]{at, value})
}
