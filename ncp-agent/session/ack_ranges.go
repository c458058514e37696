package session

import (
	"cmp"
	"slices"
	"time"

	"ncp-testbed/ncp-agent/wire"
)

// ackRange is a stretch of acknowledged positions, from ≤ position < to.
type ackRange struct {
	from, to uint64
	repeats  int // how often it will still be repeated
}

// acksReady reports whether a connection has something to acknowledge now.
func (c *connection) acksReady() bool {
	return c.ackRanges > 0 && (len(c.acks) > 0 || c.repeatDue)
}

// tickAcks lets a connection acknowledge what has arrived since the last tick,
// and repeat what may have been lost.
func (c *connection) tickAcks(maxRanges int) {
	c.repeatDue = len(c.recent) > 0
	if len(c.acks) > 0 || c.repeatDue {
		c.ackRanges = maxRanges
	}
}

// maxRanges is how many ranges a packet acknowledges at most, of this end and, as far as is known, of the peer.
func (s *Session) maxRanges() int {
	const rangeBytes = 10 // two varints at their longest
	return min(s.cfg.MaxAckRanges, max(1, s.sender.mtu/rangeBytes))
}

// nextAcks fills p with acknowledgements, lowest first, as far as the ranges
// of this tick allow and one MTU holds; recent ones are repeated in what is
// left of that. What arrived twice since the last tick is acknowledged once:
// upstream gives each copy a range of its own, and a burst of resends then
// fills the queue faster than the ranges empty it.
func (s *Session) nextAcks(now time.Duration, c *connection, p *wire.Packet) {
	slices.Sort(c.acks)
	c.acks = slices.Compact(c.acks)
	limit := min(c.ackRanges, s.maxRanges())
	done := 0
	ranges := s.ranges[:0]
	for done < len(c.acks) && len(ranges) < limit {
		first := done
		for done++; done < len(c.acks) && c.acks[done] == c.acks[done-1]+1; done++ {
		}
		ranges = append(ranges, ackRange{c.acks[first], c.acks[done-1] + 1, s.cfg.AckRepeats})
	}
	c.acks = c.acks[:copy(c.acks, c.acks[done:])]
	fresh := len(ranges)
	if len(c.acks) == 0 {
		ranges = c.repeatAcks(ranges, limit)
	}
	c.rememberAcks(ranges[:fresh], s.cfg.MaxAckRanges)
	s.ranges = ranges
	if fresh < len(ranges) {
		ranges = mergeRanges(ranges)
	}
	putRanges(p, ranges)
	c.ackRanges -= len(ranges)
	if len(c.acks) == 0 {
		c.ackRanges = 0
	}
	p.BytesRead = s.receiver.report(now)
}

// repeatAcks appends recent ranges, the newest first, up to the limit.
func (c *connection) repeatAcks(ranges []ackRange, limit int) []ackRange {
	if !c.repeatDue {
		return ranges
	}
	c.repeatDue = false
	for i := len(c.recent) - 1; i >= 0 && len(ranges) < limit; i-- {
		ranges = append(ranges, c.recent[i])
		c.recent[i].repeats--
	}
	c.recent = slices.DeleteFunc(c.recent, func(r ackRange) bool { return r.repeats <= 0 })
	return ranges
}

// rememberAcks keeps what is to be repeated, the newest ranges up to
// the limit. An acknowledgement is not itself acknowledged, so none of them can be
// known to have arrived.
func (c *connection) rememberAcks(fresh []ackRange, limit int) {
	if len(fresh) == 0 || fresh[0].repeats == 0 {
		return
	}
	c.recent = append(c.recent, fresh...)
	if over := len(c.recent) - limit; over > 0 {
		c.recent = c.recent[:copy(c.recent, c.recent[over:])]
	}
}

// mergeRanges sorts ranges, and joins those that meet.
func mergeRanges(ranges []ackRange) []ackRange {
	slices.SortFunc(ranges, func(a, b ackRange) int { return cmp.Compare(a.from, b.from) })
	last := 0
	for _, r := range ranges[1:] {
		if r.from <= ranges[last].to {
			ranges[last].to = max(ranges[last].to, r.to)
			continue
		}
		last++
		ranges[last] = r
	}
	return ranges[:last+1]
}

// putRanges writes ranges into a packet; counts are left out if all are 1.
func putRanges(p *wire.Packet, ranges []ackRange) {
	onlyOnes := true
	for _, r := range ranges {
		p.AckStarts = append(p.AckStarts, sequenceOf(r.from))
		p.AckCounts = append(p.AckCounts, uint32(r.to-r.from))
		onlyOnes = onlyOnes && r.to-r.from == 1
	}
	if onlyOnes {
		p.AckCounts = p.AckCounts[:0]
	}
}
