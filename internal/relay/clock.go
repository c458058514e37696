package relay

import (
	"math"
	"time"

	"ncp-testbed/internal/timing"
)

// clock reads model time, and relates it to Unix time, by which the kernel stamps frames. The two are counted by
// functions of their own, which a test replaces.
type clock struct {
	monotonic func() time.Duration // model time
	wall      func() timing.Unix
	narrowest time.Duration // what a reading takes on this machine at least
}

// newClock has a model time of nanoseconds since base.
func newClock(base time.Time) clock {
	c := clock{
		monotonic: func() time.Duration { return time.Since(base) },
		wall:      timing.Now,
	}
	c.measure()
	return c
}

// measure finds out what a reading takes when the thread is not held up.
func (c *clock) measure() {
	c.narrowest = math.MaxInt64
	for range readingTries {
		_, took := c.try()
		c.narrowest = min(c.narrowest, took)
	}
}

func (c *clock) now() time.Duration { return c.monotonic() }

// reading is model time and Unix time at one moment.
type reading struct {
	now  time.Duration
	wall timing.Unix
}

// A reading that takes longer than usual by more than this is taken again, a few times: the thread was held up
// within it, and by that much arrivals read from it may be too late.
const (
	readingSlack = time.Microsecond
	readingTries = 8
)

// read takes a reading; of several tries the one that was held up least.
func (c *clock) read() reading {
	best, closest := c.try()
	for tries := 1; closest > 2*c.narrowest+readingSlack && tries < readingTries; tries++ {
		if next, took := c.try(); took < closest {
			best, closest = next, took
		}
	}
	c.narrowest = min(c.narrowest, closest)
	return best
}

func (c *clock) try() (r reading, took time.Duration) {
	before := c.monotonic()
	wall := c.wall()
	after := c.monotonic()
	// The later of the two, so that no frame leaves early.
	return reading{after, wall}, after - before
}

// maxAge bounds how long before it is read a frame may have arrived: a clock that was set in between must not send
// it to the past.
const maxAge = time.Second

// arrival is when a frame came, by the kernel's stamp. A frame may be younger than the reading, if the thread was
// held up since: then it is judged by a new one, which replaces it. A frame that is to come yet was stamped before
// the clock was set back, and counts as just arrived.
func (c *clock) arrival(stamp timing.Unix, r *reading) time.Duration {
	if stamp > r.wall {
		*r = c.read()
	}
	return min(r.now, max(r.now-maxAge, r.now+stamp.Sub(r.wall)))
}
