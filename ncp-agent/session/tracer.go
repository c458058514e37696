package session

import (
	"time"

	"ncp-testbed/ncp-agent/wire"
)

// Tracer observes what a session does, as it does it: for traces packet by
// packet. What it is given is good until it returns; it may not call the
// session. Without one nothing is made of this.
type Tracer interface {
	// Sent: a packet was handed out to be sent on a connection; again says that
	// its data was before, on any.
	Sent(now time.Duration, conn int, p *wire.Packet, again bool)
	// Refused: the connection's socket did not take a packet of data.
	Refused(now time.Duration, conn int, sequence uint32)
	// Received: a packet arrived.
	Received(now time.Duration, conn int, p *wire.Packet)
	// Dropped: it, or a part of it, was not taken, for this reason.
	Dropped(now time.Duration, conn int, p *wire.Packet, reason error)
	// Lost: a packet in flight on a connection counts as lost.
	Lost(now time.Duration, conn int, sequence uint32)
	// Now: what the session is at after a step, changed or not; only connections
	// that carry it have numbers.
	Now(now time.Duration, state State, connections []ConnectionStats)
}

// trace shows the tracer the state after a step.
func (s *Session) trace(now time.Duration) {
	if s.cfg.Tracer == nil {
		return
	}
	s.traced = s.appendStats(s.traced[:0])
	s.cfg.Tracer.Now(now, s.state, s.traced[:s.paired])
}

func (s *Session) traceLost(now time.Duration, c *connection, position uint64) {
	if s.cfg.Tracer != nil {
		s.cfg.Tracer.Lost(now, c.index, sequenceOf(position))
	}
}
