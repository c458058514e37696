package session

import (
	"time"

	"ncp-testbed/internal/timing"
	"ncp-testbed/ncp-agent/wire"
)

// sender holds the data written and not yet acknowledged, as segments of at
// most one MTU. Positions below next have been handed out at least once.
type sender struct {
	segments  ring[segment]
	next      uint64       // the first position never handed out
	resends   ring[uint64] // positions to send again, on any connection
	partial   []byte       // the segment being filled
	flushAt   time.Duration
	wroteAt   time.Duration // the application last wrote
	idleSince time.Duration // the last segment was handed out or taken; for policies with Scheduler
	buffers   *Buffers

	window     uint64 // bytes
	mtu        int
	span       uint64 // most segments held
	maxUnsent  uint64 // most whole segments that wait for a connection
	maxResends int    // timed-out positions that may wait

	written    uint64 // bytes taken from the application
	sealed     uint64 // of these, bytes that are in segments
	acked      uint64 // of these, bytes acknowledged
	cleared    int    // segments held though they are acknowledged
	readTo     uint64 // the peer's application has read the segments before this position
	remoteRead uint64 // of these, bytes that the peer's application has read
}

// segment is one packet's data and the connections that have it in flight.
type segment struct {
	data   []byte
	sends  []transmission
	end    uint64 // the stream's bytes up to its last one
	sent   bool   // at least once, on any connection
	acked  bool
	queued bool // waits to be sent again; kept for policies with Recovery only
}

// transmission says that a connection has a segment in flight, or had.
type transmission struct {
	order   uint64 // of its flight
	conn    int32  // small: each packet in flight has one of these
	waiting bool   // timed out, and this connection has not sent it again

	// Only with a policy that has Recovery, which keeps a segment until it is
	// known of every sending whether it arrived:
	fate   fate
	again  bool          // sent more than once by this connection
	lostAt time.Duration // when what was lost had been sent
}

// fate is what became of a sending.
type fate uint8

const (
	underway fate = iota
	lost
	arrived
)

// underway reports whether a connection has the segment in flight.
func (g *segment) underway() bool {
	for i := range g.sends {
		if g.sends[i].fate == underway {
			return true
		}
	}
	return false
}

func (g *segment) on(conn int) *transmission {
	for i := range g.sends {
		if g.sends[i].conn == int32(conn) {
			return &g.sends[i]
		}
	}
	return nil
}

func (o *sender) start(window, mtu uint32, windowPackets float64, connections int) {
	o.window = uint64(window)
	o.mtu = int(mtu)
	o.span = sendSpan(windowPackets, connections)
	// What waits here counts in the send window: keep it a small part.
	o.maxUnsent = uint64(min(max(windowPackets/64, 2), 1024))
	o.maxResends = min(int(windowPackets), maxSpan) + connections
}

// keepUnsent lets the whole send window wait for connections, as a TCP's send
// buffer does: who chooses among them is to see how much there is.
func (o *sender) keepUnsent(windowPackets float64) {
	o.maxUnsent = max(o.maxUnsent, uint64(windowPackets))
}

// used returns the bytes of the send window in use: written and, as far as is
// known, not yet read by the peer's application.
func (o *sender) used() uint64 { return o.written - o.remoteRead }

func (o *sender) receiveBytesRead(read uint64) {
	if read <= o.written {
		o.remoteRead = max(o.remoteRead, read)
	}
}

func (o *sender) outstanding(position uint64) bool {
	return o.segments.has(position) && !o.segments.at(position).acked
}

// full reports whether the send window is.
func (o *sender) full() bool { return o.used() >= o.window }

// room reports whether one more byte can be written.
func (o *sender) room() bool {
	return !o.full() && o.segments.end-o.next < o.maxUnsent && uint64(o.segments.len()) < o.span
}

// Writable reports whether Write would take anything.
func (s *Session) Writable() bool { return s.state == Established && s.sender.room() }

// Write takes as much of b as flow control and the queue of unsent packets
// allow, and returns the number of bytes taken. It takes nothing before the
// handshake and after Close.
func (s *Session) Write(now time.Duration, b []byte) int {
	now = s.observe(now)
	o := &s.sender
	n := 0
	for n < len(b) && s.Writable() {
		available := o.window - o.used()
		if len(o.partial) == 0 {
			o.partial = o.buffers.get(o.mtu)
			o.flushAt = now + s.cfg.FlushInterval
		}
		part := min(uint64(len(b)-n), available, uint64(o.mtu-len(o.partial)))
		o.partial = o.buffers.fill(o.partial, b[n:n+int(part)])
		o.written += part
		o.wroteAt = now
		n += int(part)
		if idle := available == o.window; idle || len(o.partial) == o.mtu {
			o.seal()
		}
	}
	return n
}

// seal makes a segment of what has been filled.
func (o *sender) seal() {
	g := o.segments.push()
	o.sealed += uint64(len(o.partial))
	g.data, g.end, o.partial = o.partial, o.sealed, nil
}

// flushAfter seals a segment that is not full when it has waited long enough.
func (o *sender) flushAfter(now, interval time.Duration) {
	if len(o.partial) == 0 || now < o.flushAt {
		return
	}
	if uint64(o.segments.len()) < o.span {
		o.seal()
	} else {
		o.flushAt = now + interval
	}
}

func (o *sender) flushDeadline() time.Duration {
	if len(o.partial) == 0 {
		return timing.Never
	}
	return o.flushAt
}

// Unacknowledged returns the packets written and not yet acknowledged.
func (s *Session) Unacknowledged() int {
	n := s.sender.segments.len() - s.sender.cleared
	if len(s.sender.partial) > 0 {
		n++
	}
	return n
}

// waiting reports whether a segment waits for a connection.
func (o *sender) waiting() bool { return o.resendWaits() || o.next < o.segments.end }

// resendWaits drops from the head of the resend queue what has been
// acknowledged since, and reports whether anything is left.
func (o *sender) resendWaits() bool {
	for o.resends.len() > 0 {
		if o.outstanding(*o.resends.at(o.resends.base)) {
			return true
		}
		o.resends.pop()
	}
	return false
}

// dataReady reports whether a connection has a segment to send. Resends come
// first, and need no window room; but a connection without room looks for
// them only once per fullPoll, as upstream's sender does while it waits.
func (s *Session) dataReady(now time.Duration, c *connection) bool {
	if now < c.pausedUntil {
		return false
	}
	if s.caps.Pacer != nil {
		return s.pacedReady(now, c)
	}
	o := &s.sender
	if s.windowRoom(c) {
		return o.waiting()
	}
	return now >= c.fullUntil && o.resendWaits()
}

func (s *Session) windowRoom(c *connection) bool {
	return float64(c.inFlight) < s.policy.Window(c.index)
}

// nextData hands out a segment on a connection, if there is one for it.
func (s *Session) nextData(now time.Duration, c *connection, p *wire.Packet) bool {
	if s.sender.written == 0 { // an end that only receives need not ask its policy
		c.starved = true
		return false
	}
	if s.caps.Pacer != nil {
		return s.nextPaced(now, c, p)
	}
	room := s.windowRoom(c)
	if room {
		c.fullUntil = 0
	}
	if !s.dataReady(now, c) {
		if !room && now >= c.fullUntil {
			c.fullUntil = now + fullPoll
		}
		return false
	}
	o := &s.sender
	var position uint64
	if o.resendWaits() {
		position = *o.resends.at(o.resends.base)
		o.resends.pop()
	} else {
		position = o.next
		o.next++
	}
	s.handOut(now, c, position, p)
	return true
}

// handOut makes the packet that carries a segment on a connection.
func (s *Session) handOut(now time.Duration, c *connection, position uint64, p *wire.Packet) {
	g := s.sender.segments.at(position)
	s.launch(now, c, position, g)
	p.Sequence = sequenceOf(position)
	p.Data = g.data
}

// launch puts a segment in flight on a connection.
func (s *Session) launch(now time.Duration, c *connection, position uint64, g *segment) {
	h := pendingSend{data: true, position: position}
	if t := g.on(c.index); t != nil && t.fate == underway {
		h.wasWaiting = t.waiting
		t.waiting = false
	} else {
		h.first = true
		h.order = c.flights.end
		*c.flights.push() = flight{position: position, sentAt: now, live: true}
		c.inFlight++
		if t != nil {
			t.order, t.fate, t.again = h.order, underway, true
		} else {
			g.sends = append(g.sends, transmission{conn: int32(c.index), order: h.order})
		}
	}
	if s.caps.Pacer != nil {
		mark := s.caps.Pacer.Sent(c.index, now, c.inFlight, c.starved)
		c.starved = false
		if h.first {
			c.flights.at(h.order).mark = mark
		}
	}
	c.handed.add(h)
	c.sent++
	if g.sent {
		c.resent++
	}
	g.sent = true
}

// unsend takes back a packet that a socket refused: it goes to the resend
// queue, and the connection is as it was before it was handed out.
func (s *Session) unsend(c *connection, h pendingSend) {
	g := s.sender.segments.at(h.position)
	c.sent--
	for i := range g.sends {
		if g.sends[i].conn != int32(c.index) {
			continue
		}
		if h.first {
			c.land(g.sends[i].order)
			g.sends = append(g.sends[:i], g.sends[i+1:]...)
		} else {
			g.sends[i].waiting = h.wasWaiting
		}
		break
	}
	if s.caps.Recovery == nil || !g.queued {
		s.sender.queue(h.position)
	}
}

// queue puts a segment among those to be sent again.
func (o *sender) queue(position uint64) {
	*o.resends.push() = position
	o.segments.at(position).queued = true
}
