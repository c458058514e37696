package session

import (
	"time"

	"ncp-testbed/ncp-agent/policy"
	"ncp-testbed/ncp-agent/wire"
)

// receiveAcks clears the acknowledged packets on all connections, then lets
// the policy finish its batch. Each packet counts for the policy once per
// connection that has it in flight, and for the RTO only on connection c.
func (s *Session) receiveAcks(now time.Duration, c *connection, p *wire.Packet) {
	ranges, _ := p.AckRanges() // Receive has refused what is an error
	o := &s.sender
	highest := uint64(0)
	// Ranges that do not overlap need no more steps than there are packets.
	steps := o.next - o.segments.base
	for i := range ranges {
		from, to := o.clip(p.AckRange(i))
		for ; from < to && steps > 0; from++ {
			steps--
			if s.caps.Recovery != nil {
				s.acknowledgeSending(now, c, from)
			} else {
				s.acknowledge(now, c, from)
			}
			highest = max(highest, from)
		}
		o.dropAcked()
	}
	if s.caps.Recovery != nil {
		s.acknowledgeRead()
	}
	s.policy.EndBatch()
	if s.caps.Recovery != nil && ranges > 0 {
		s.findLost(now, c, ranges, highest)
	}
}

// dropAcked forgets the segments before the first one that is unacknowledged
// or in flight.
func (o *sender) dropAcked() {
	for o.segments.base < o.next {
		g := o.segments.at(o.segments.base)
		if !g.acked || g.underway() {
			return
		}
		o.cleared--
		*g = segment{sends: g.sends[:0]}
		o.segments.pop()
	}
}

// clip returns the positions from ≤ i < to of an acknowledged range that have
// been sent and are still held.
func (o *sender) clip(start, count uint32) (from, to uint64) {
	if start < wire.MinSequence || count == 0 {
		return 0, 0
	}
	base, left := o.segments.base, uint64(count)
	if d := ahead(base, start); d < o.next-base {
		from = base + d
	} else if before := sequences - d; left > before { // it starts before, and reaches in
		from, left = base, left-before
	} else {
		return 0, 0
	}
	return from, min(from+left, o.next)
}

func (s *Session) acknowledge(now time.Duration, c *connection, position uint64) {
	g := s.sender.segments.at(position)
	if g.acked {
		return
	}
	for _, t := range g.sends {
		carrier := &s.conns[t.conn]
		ack := policy.Ack{Resent: t.waiting, Own: carrier == c, RTT: now - carrier.flights.at(t.order).sentAt}
		s.policy.Acked(carrier.index, ack)
		if ack.Own {
			c.rtt.Add(ack.RTT, 1)
			c.rto = policy.UpstreamRTO(c.rto, ack.RTT, s.cfg.MaxRTO)
		}
		carrier.land(t.order)
	}
	g.sends = g.sends[:0]
	c.acked++
	s.sender.clear(g)
}

// clear marks a segment as acknowledged and recycles its data.
func (o *sender) clear(g *segment) {
	o.acked += uint64(len(g.data))
	o.buffers.put(g.data)
	o.cleared++
	g.data, g.acked = nil, true
}

// checkTimeouts queues a connection's timed-out packets to be sent again. The
// packet stays in flight here until it is acknowledged. As it keeps its first
// timestamp, it times out again at the next check once this connection has
// sent it again: upstream's rule.
func (s *Session) checkTimeouts(now time.Duration, c *connection) {
	found := false
	unsent := c.handed.firstOrder(c.flights.end)
	for order := c.flights.base; order < unsent; order++ {
		f := c.flights.at(order)
		if f.sentAt >= now-c.rto {
			break
		}
		if !f.live {
			continue
		}
		t := s.sender.segments.at(f.position).on(c.index)
		if t.waiting {
			continue
		}
		if s.sender.resends.len() >= s.sender.maxResends {
			break
		}
		t.waiting = true
		*s.sender.resends.push() = f.position
		c.lost++
		s.traceLost(now, c, f.position)
		s.policy.TimedOut(c.index)
		found = true
	}
	if found {
		s.policy.EndBatch()
	}
}

// firstOrder returns the first flight that was handed out and not yet confirmed,
// or end if there is none: it waits for its socket and can't time out.
func (h *pendingSends) firstOrder(end uint64) uint64 {
	for _, o := range h.queue {
		if o.first {
			return o.order
		}
	}
	return end
}
