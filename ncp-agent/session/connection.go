package session

import (
	"time"

	"ncp-testbed/internal/rtt"
	"ncp-testbed/ncp-agent/policy"
)

// connection is one path of a session: what it has in flight, its RTO, and
// what it has to acknowledge.
type connection struct {
	index int

	flights    ring[flight]  // in the order of sending; indices are flight orders
	inFlight   int           // live flights
	newest     uint64        // the order after the newest flight known to have arrived here
	newestSent time.Duration // when that was sent
	run        run
	starved    bool // since its last packet it could have sent, and found nothing
	busy       bool // NextPacket was not called since it returned the last one
	handed     pendingSends
	rtt        rtt.Estimator[time.Duration] // for reports only
	rto        time.Duration
	// fullUntil: without window room it looks for resends at this time again.
	// pausedUntil: after a write error it sends no data before this time.
	fullUntil, pausedUntil time.Duration

	acks      []uint64   // positions to acknowledge, in the order of arrival
	ackRanges int        // how many ranges it may still acknowledge until the next tick
	recent    []ackRange // acknowledged, to be repeated, the newest last
	repeatDue bool       // at this tick

	handshakeDue, bytesReadDue, closeDue bool
	broken                               bool // between Break and Restore

	sent, resent, acked, lost        uint64
	received, delivered, outOfWindow uint64
}

// flight is a packet on its way on one connection: from its first sending
// there until it is acknowledged, on whichever connection.
type flight struct {
	position uint64
	sentAt   time.Duration // first sending; a resend keeps it, as upstream does
	live     bool
	mark     policy.Mark
}

// land ends a flight.
func (c *connection) land(order uint64) {
	c.flights.at(order).live = false
	c.inFlight--
	c.trim()
}

// trim forgets the oldest flights up to the first live one.
func (c *connection) trim() {
	for c.flights.len() > 0 && !c.flights.at(c.flights.base).live {
		c.flights.pop()
	}
}

// pendingSend remembers a packet given out by NextPacket until the driver says
// what became of it.
type pendingSend struct {
	data       bool // else a control packet
	position   uint64
	order      uint64 // the flight, if first
	first      bool   // this connection had not sent this position before
	wasWaiting bool   // it had, and the flight was marked as timed out
}

// maxPendingSends bounds the packets handed out and not yet confirmed; beyond, the
// oldest counts as sent.
const maxPendingSends = 256

// pendingSends is the queue of packets handed to a driver.
type pendingSends struct{ queue []pendingSend }

func (h *pendingSends) add(o pendingSend) {
	if len(h.queue) == maxPendingSends {
		h.drop(1)
	}
	h.queue = append(h.queue, o)
}

// drop removes the first n.
func (h *pendingSends) drop(n int) {
	h.queue = h.queue[:copy(h.queue, h.queue[n:])]
}

// Sent says that the socket has taken the first n packets handed out by
// NextPacket on a connection and not yet confirmed. Their RTT counts from now,
// as upstream's does from the end of its blocking write.
func (s *Session) Sent(now time.Duration, conn, n int) {
	now = s.observe(now)
	c := &s.conns[conn]
	n = min(n, len(c.handed.queue))
	for _, h := range c.handed.queue[:n] {
		if h.data && h.first && c.flights.has(h.order) {
			c.flights.at(h.order).sentAt = now
		}
	}
	c.handed.drop(n)
}

// WriteError says that the socket refused the packets handed out on a
// connection and not yet confirmed. Data goes to the resend queue, the policy
// learns of one error, and the connection sends no data for a second.
func (s *Session) WriteError(now time.Duration, conn int) {
	now = s.observe(now)
	c := &s.conns[conn]
	failed := false
	for _, h := range c.handed.queue {
		if !h.data || !s.sender.outstanding(h.position) {
			continue
		}
		failed = true
		if s.cfg.Tracer != nil {
			s.cfg.Tracer.Refused(now, conn, sequenceOf(h.position))
		}
		s.unsend(c, h)
	}
	c.handed.drop(len(c.handed.queue))
	if failed && s.open() {
		s.policy.WriteError(conn)
		s.policy.EndBatch()
		c.pausedUntil = now + writeErrorPause
	}
}
