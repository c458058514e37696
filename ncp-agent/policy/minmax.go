package policy

import "time"

// minmax is the largest (or smallest) of the samples of the last while: a
// monotonic queue, so that adding costs amortised constant time.
type minmax struct {
	smallest bool
	samples  []timed
}

type timed struct {
	at    time.Duration
	value float64
}

// add takes a sample and forgets those older than keep, which is not negative.
func (w *minmax) add(at time.Duration, value float64, keep time.Duration) {
	n := len(w.samples)
	for n > 0 && w.better(value, w.samples[n-1].value) {
		n--
	}
	w.samples = append(w.samples[:n], timed{at, value})
	old := 0
	for w.samples[old].at < at-keep {
		old++
	}
	w.samples = w.samples[:copy(w.samples, w.samples[old:])]
}

// better reports whether b says nothing beside a, which is newer.
func (w *minmax) better(a, b float64) bool {
	if w.smallest {
		return a <= b
	}
	return a >= b
}

func (w *minmax) empty() bool { return len(w.samples) == 0 }

// value is the extreme, 0 without samples.
func (w *minmax) value() float64 {
	if w.empty() {
		return 0
	}
	return w.samples[0].value
}

// set forgets all samples but this one.
func (w *minmax) set(at time.Duration, value float64) {
	w.samples = append(w.samples[:0], timed{at, value})
}
