package session

import (
	"time"

	"ncp-testbed/ncp-agent/policy"
)

// This file finds what is lost for policies with Recovery. The peer
// acknowledges each packet once, so a lost acknowledgement looks like lost
// packets; what its application has read shows the difference where it can.

// acknowledgeSending takes an acknowledgement of a packet on the connection
// that carried it. Copies on other connections stay in flight.
func (s *Session) acknowledgeSending(now time.Duration, c *connection, position uint64) {
	g := s.sender.segments.at(position)
	if !g.sent {
		return
	}
	if t := g.on(c.index); t != nil {
		switch {
		case t.fate == underway:
			s.landed(now, c, t)
		case t.fate == lost && !t.again:
			s.caps.Recovery.OnSpuriousLoss(c.index, now, now-t.lostAt)
		}
		t.fate = arrived
	}
	if !g.acked {
		c.acked++
		s.sender.clear(g)
	}
}

// landed reports to the policy a packet that arrived on its connection.
func (s *Session) landed(now time.Duration, c *connection, t *transmission) {
	f := c.flights.at(t.order)
	ack := policy.Ack{
		Own: true, RTT: now - f.sentAt,
		At: now, SentAt: f.sentAt, Mark: f.mark, Ambiguous: t.again,
	}
	s.policy.Acked(c.index, ack)
	if !t.again {
		c.rtt.Add(ack.RTT, 1)
		c.rto = s.caps.Recovery.RTO(c.index)
		if t.order >= c.newest {
			c.newest, c.newestSent = t.order+1, f.sentAt
		}
	}
	c.land(t.order)
}

// acknowledgeRead takes what the peer's application has read, in the order of
// the stream, as acknowledged. The packets stay in flight until they are
// acknowledged where they were sent, or overdue.
func (s *Session) acknowledgeRead() {
	o := &s.sender
	for o.readTo = max(o.readTo, o.segments.base); o.readTo < o.next; o.readTo++ {
		g := o.segments.at(o.readTo)
		if g.end > o.remoteRead || !g.sent {
			break
		}
		if !g.acked {
			o.clear(g)
		}
	}
	o.dropAcked()
}

// findLost finds the packets lost that are older than the newest acknowledged
// one by both of the policy's distances. An acknowledgement that is full says
// nothing about sequences above its highest.
func (s *Session) findLost(now time.Duration, c *connection, ranges int, highest uint64) {
	if c.newest == 0 {
		return
	}
	full := ranges >= s.maxRanges() // it may leave out what arrived with higher sequences
	packets, apart := s.caps.Recovery.Reordering(c.index)
	newest := c.newest - 1
	newestSent := c.newestSent
	inARow := 0
	for order := c.flights.base; order+packets <= newest; order++ {
		f := c.flights.at(order)
		if f.sentAt+apart > newestSent {
			break
		}
		if f.live && (!full || f.position < highest) && s.lose(now, c, order) {
			inARow++
		} else if inARow > 0 {
			s.caps.Recovery.Lost(c.index, now, inARow)
			inARow = 0
		}
	}
	if inARow > 0 {
		s.caps.Recovery.Lost(c.index, now, inARow)
	}
	c.trim()
	s.sender.dropAcked()
}

// checkSilence takes all that a connection has in flight as lost when the
// oldest is overdue; what it was to send next is then for all to send.
func (s *Session) checkSilence(now time.Duration, c *connection) {
	c.trim()
	unsent := c.handed.firstOrder(c.flights.end)
	if c.flights.base >= unsent || now-c.flights.at(c.flights.base).sentAt < s.caps.Recovery.RTO(c.index) {
		return
	}
	found := false
	for order := c.flights.base; order < unsent; order++ {
		if c.flights.at(order).live {
			found = s.lose(now, c, order) || found
		}
	}
	c.trim()
	s.sender.dropAcked()
	if !found {
		return
	}
	s.returnRun(c)
	s.caps.Recovery.OnTimeout(c.index, now)
	s.policy.EndBatch()
}

// lose takes a flight as lost: it no longer counts, and its segment is sent
// again if no other connection has it in flight. If its data is known to have
// arrived, only the acknowledgement was lost, or a copy: then it reports
// false. The caller trims.
func (s *Session) lose(now time.Duration, c *connection, order uint64) bool {
	f := c.flights.at(order)
	f.live = false
	c.inFlight--
	g := s.sender.segments.at(f.position)
	t := g.on(c.index)
	if g.acked {
		t.fate = arrived
		if len(g.sends) == 1 {
			s.policy.Acked(c.index, policy.Ack{Implied: true, At: now, SentAt: f.sentAt})
		}
		return false
	}
	t.fate, t.lostAt = lost, f.sentAt
	c.lost++
	s.traceLost(now, c, f.position)
	if !g.underway() && !g.queued {
		s.sender.queue(f.position)
	}
	return true
}
