package linkmodel

import (
	"math"
	"time"
)

// CoDel's constants, RFC 8289 section 4.4, and the size below which a queue is never called standing.
const (
	codelTarget   time.Duration = 5 * nsPerMs
	codelInterval time.Duration = 100 * nsPerMs
	codelMTUBytes               = 1514
)

// codel decides at the head of the queue whether a frame is dropped (RFC 8289 section 5), one head at a time.
type codel struct {
	firstAbove       time.Duration // when the sojourn will have been above target for an interval; 0: it is not above
	dropNext         time.Duration
	count, lastCount int
	dropping         bool
	advance          bool // a drop in the dropping state moves dropNext once the next head is seen to be late too
}

// drop decides on the head: now is when it would leave, sojourn how long it waited, queued the bytes that
// wait, itself included.
func (c *codel) drop(now, sojourn time.Duration, queued int) bool {
	late := c.late(now, sojourn, queued)
	law := func(from time.Duration) time.Duration {
		return from + time.Duration(float64(codelInterval)/math.Sqrt(float64(c.count)))
	}

	if c.dropping {
		if !late {
			c.dropping, c.advance = false, false
			return false
		}
		if c.advance {
			c.dropNext, c.advance = law(c.dropNext), false
		}
		if now < c.dropNext {
			return false
		}
		c.count++
		c.advance = true
		return true
	}
	if !late {
		return false
	}
	c.dropping = true
	// Drops that resume soon after they stopped start near the rate at which they stopped.
	delta := c.count - c.lastCount
	c.count = 1
	if delta > 1 && now-c.dropNext < 16*codelInterval {
		c.count = delta
	}
	c.dropNext = law(now)
	c.lastCount = c.count
	return true
}

// late reports whether frames have waited longer than the target for at least an interval.
func (c *codel) late(now, sojourn time.Duration, queued int) bool {
	if sojourn < codelTarget || queued <= codelMTUBytes {
		c.firstAbove = 0
		return false
	}
	if c.firstAbove == 0 {
		c.firstAbove = now + codelInterval
		return false
	}
	return now >= c.firstAbove
}
