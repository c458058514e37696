package fetch

import (
	"time"

	"ncp-testbed/ndn-agent/packet"
)

// discover learns the segments' names from the first Data.
func (f *Fetcher) discover(name packet.Name) bool {
	last, parent, ok := name.Last()
	if _, numbered := last.Number(packet.ComponentSegment); !ok || !numbered || !name.HasPrefix(f.base) {
		return false
	}
	f.discovering, f.base = false, parent
	return true
}

// rediscovered requests the first segment by its name, after an answer to the
// discovery with another segment.
func (f *Fetcher) rediscovered(now time.Duration, segment uint64) {
	if r := f.requests[0]; r != nil && r.inFlight && segment != 0 && f.stats.Segments == 0 && len(f.requests) == 1 && f.config.Discover && r.retries == 0 {
		r.retries++
		f.ask(now, 0, r)
	}
}

// segmentOf returns the number of a segment of the object.
func (f *Fetcher) segmentOf(name packet.Name) (uint64, bool) {
	if !name.HasPrefix(f.base) {
		return 0, false
	}
	c, rest, ok := name[len(f.base):].First()
	if !ok || rest != "" {
		return 0, false
	}
	return c.Number(packet.ComponentSegment)
}
