package session

import "time"

// Break says that a connection carries nothing until Restore: its transport
// has broken, or is not there yet. What it has in flight may be lost, so it is
// sent again, on any connection; what waits to be acknowledged on it is
// acknowledged on another one, as any acknowledgement clears a packet on all.
// The policy learns of one write error, or that the connection is silent. The
// session goes on with the rest, and waits when there is none.
func (s *Session) Break(now time.Duration, conn int) {
	now = s.observe(now)
	c := &s.conns[conn]
	if c.broken {
		return
	}
	c.broken = true
	c.handed.drop(len(c.handed.queue))
	if !s.open() || conn >= s.paired {
		return
	}
	s.abandonFlights(now, c)
	s.moveAcks(c)
}

// Restore says that a connection which broke carries packets again.
func (s *Session) Restore(now time.Duration, conn int) {
	s.observe(now)
	c := &s.conns[conn]
	if !c.broken {
		return
	}
	c.broken = false
	c.fullUntil, c.pausedUntil = 0, 0
	if s.state == Dialing {
		c.handshakeDue = true
	}
	// Reports and close packets may have been lost with it.
	if s.open() && conn < s.paired {
		c.bytesReadDue = s.receiver.read > 0
		c.closeDue = s.closing.rounds > 0
	}
}

// abandonFlights ends a connection's flights. Packets that no other connection
// has in flight wait to be sent again.
func (s *Session) abandonFlights(now time.Duration, c *connection) {
	some := c.inFlight > 0
	for order := c.flights.base; order < c.flights.end; order++ {
		if !c.flights.at(order).live {
			continue
		}
		if s.caps.Recovery != nil {
			s.lose(now, c, order)
		} else if !s.abandon(c, order) {
			break // the rest times out
		}
	}
	c.trim()
	s.returnRun(c)
	if !some {
		return
	}
	if s.caps.Recovery != nil {
		s.caps.Recovery.OnTimeout(c.index, now)
	} else {
		s.policy.WriteError(c.index)
	}
	s.policy.EndBatch()
}

// abandon ends a flight as if it had not been, unless too many packets wait to
// be sent again. The caller trims.
func (s *Session) abandon(c *connection, order uint64) bool {
	if s.sender.resends.len() >= s.sender.maxResends {
		return false
	}
	f := c.flights.at(order)
	f.live = false
	c.inFlight--
	g := s.sender.segments.at(f.position)
	for i := range g.sends {
		if g.sends[i].conn != int32(c.index) {
			continue
		}
		// One that timed out waits already, or another connection has it.
		if !g.sends[i].waiting && len(g.sends) == 1 {
			s.sender.queue(f.position)
		}
		g.sends = append(g.sends[:i], g.sends[i+1:]...)
		break
	}
	return true
}

// moveAcks hands a broken connection's outstanding acknowledgements to the
// first one that is not broken, if there is one.
func (s *Session) moveAcks(c *connection) {
	for i := range s.conns[:s.paired] {
		if other := &s.conns[i]; !other.broken {
			room := int(s.receiver.span) - len(other.acks)
			other.acks = append(other.acks, c.acks[:min(len(c.acks), room)]...)
			c.acks, c.recent, c.ackRanges, c.repeatDue = c.acks[:0], c.recent[:0], 0, false
			return
		}
	}
}
