package relay

import (
	"math"
	"time"

	"ncp-testbed/internal/linkmodel"
)

// clock tells model time, and relates it to Unix time, by which the kernel stamps frames. The two are counted by
// functions of their own, which a test replaces.
type clock struct {
	monotonic func() int64   // model time
	wall      func() int64   // Unix time
	narrowest linkmodel.Time // what a reading takes on this machine at least
}

// newClock has a model time of nanoseconds since base.
func newClock(base time.Time) clock {
	c := clock{
		monotonic: func() int64 { return int64(time.Since(base)) },
		wall:      func() int64 { return time.Now().UnixNano() },
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

func (c *clock) now() linkmodel.Time { return c.monotonic() }

// reading is model time and Unix time at one moment.
type reading struct {
	now    linkmodel.Time
	wallNS int64
}

// A reading that takes longer than usual by more than this is taken again, a few times: the thread was held up
// within it, and by that much arrivals told from it may be too late.
const (
	readingSlack = linkmodel.Time(time.Microsecond)
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

func (c *clock) try() (r reading, took linkmodel.Time) {
	before := c.monotonic()
	wallNS := c.wall()
	after := c.monotonic()
	// The later of the two, so that no frame leaves early.
	return reading{after, wallNS}, after - before
}

// maxAge bounds how long before it is read a frame may have arrived: a clock that was set in between must not send
// it to the past.
const maxAge = linkmodel.Time(time.Second)

// arrival is when a frame came, by the kernel's stamp. A frame may be younger than the reading, if the thread was
// held up since: then it is judged by a new one, which replaces it. A frame that is to come yet was stamped before
// the clock was set back, and counts as just arrived.
func (c *clock) arrival(stampNS int64, r *reading) linkmodel.Time {
	if stampNS > r.wallNS {
		*r = c.read()
	}
	return min(r.now, max(r.now-maxAge, r.now+stampNS-r.wallNS))
}
