package session

import (
	"time"

	"ncp-testbed/ncp-agent/wire"
)

// closing is the end of a session: first linger, until the peer's application
// has read all or the time is up, then close packets on all connections.
// Upstream waits for acknowledgements only, and at a close it drops what it has
// not read: to an upstream peer a close must not come before that. It sends
// close packets once; here they are repeated, as any may be lost.
type closing struct {
	byPeer      bool
	lingerUntil time.Duration
	rounds      int // of close packets, so far
	nextRound   time.Duration
}

// Close ends the session from this side: nothing more can be written; what has
// been is still delivered for at most Config.Linger. A session that is not
// established is closed at once.
func (s *Session) Close(now time.Duration) {
	now = s.observe(now)
	switch s.state {
	case Idle, Dialing:
		s.state = Closed
		for i := range s.conns {
			s.conns[i].handshakeDue = false
		}
	case Established:
		s.state = Closing
		s.closing.lingerUntil = now + s.cfg.Linger
		s.sender.flushAt = now
		s.Advance(now)
	}
	s.trace(now)
}

func (s *Session) advanceClose(now time.Duration) {
	e := &s.closing
	if e.rounds == 0 {
		if (s.Unacknowledged() > 0 || s.sender.used() > 0) && now < e.lingerUntil {
			return
		}
	} else if now < e.nextRound {
		return
	}
	if e.rounds == closeRepeats {
		s.state = Closed
		return
	}
	e.rounds++
	e.nextRound = now + closeInterval
	for i := range s.conns[:s.paired] {
		s.conns[i].closeDue = true
	}
}

func (e *closing) deadline() time.Duration {
	if e.rounds == 0 {
		return e.lingerUntil
	}
	return e.nextRound
}

func (s *Session) nextClose(c *connection, p *wire.Packet) {
	c.closeDue = false
	p.Close = true
}

func (s *Session) receiveClose() {
	s.state = Closed
	s.closing.byPeer = true
	for i := range s.conns {
		s.conns[i].closeDue = false
		s.conns[i].handshakeDue = false
	}
}
