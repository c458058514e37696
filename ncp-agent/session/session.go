package session

import (
	"cmp"
	"errors"
	"time"

	"ncp-testbed/internal/timing"
	"ncp-testbed/ncp-agent/policy"
	"ncp-testbed/ncp-agent/wire"
)

// State is where a session stands in its life.
type State int

// The states of a session, in order.
const (
	Idle        State = iota // made; waits for Dial or for the peer's handshake
	Dialing                  // repeats its handshake until the peer's comes
	Established              // carries data both ways
	Closing                  // Close was called; acknowledgements or close packets are outstanding
	Closed                   // nothing more to send; received data can still be read
)

func (s State) String() string {
	return [...]string{"idle", "dialing", "established", "closing", "closed"}[s]
}

// Errors of Receive. The packet was dropped and nothing else happened, so that
// a driver may count them and go on.
var (
	ErrClosed     = errors.New("session: closed")
	ErrHandshake  = errors.New("session: handshake without window, MTU or client ids")
	ErrTooLarge   = errors.New("session: more data than the MTU in a packet")
	ErrWindowFull = errors.New("session: data beyond the receive window")
	ErrSequence   = errors.New("session: sequence before the first packet")
	ErrConnection = errors.New("session: data on a connection that the handshake did not pair")
	errEarly      = errors.New("session: before the handshake")
)

// Session is one end of an NCP session. Times are since any fixed start, the
// same for all calls; one that lies before an earlier one counts as that one.
// Connections count from 0 in the order of Config.ClientIDs.
type Session struct {
	cfg        Config
	state      State
	now        time.Duration
	in         wire.Packet       // reused by Receive
	out        wire.Packet       // reused by NextPacket
	ranges     []ackRange        // reused by nextAcks
	traced     []ConnectionStats // reused by trace
	conns      []connection
	paired     int // connections that carry the session, from the handshake on
	policy     policy.Policy
	caps       policy.Capabilities // of the policy
	schedState policy.Moment       // reused by takes

	handshake handshake
	closing   closing
	sender    sender
	receiver  receiver

	ackTick, timeoutTick, bytesReadTick time.Duration // next ticks, from the handshake on
	establishedAt                       time.Duration
}

// New makes a session. It is an error if the configuration makes no sense.
func New(cfg Config) (*Session, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	s := &Session{cfg: cfg, conns: make([]connection, len(cfg.ClientIDs))}
	for i := range s.conns {
		s.conns[i] = connection{index: i, rto: cfg.InitialRTO}
	}
	s.receiver.window = cfg.WindowBytes
	s.receiver.span = receiveSpan(float64(cfg.WindowBytes) / float64(cfg.MTUBytes))
	s.receiver.mtu = int(cfg.MTUBytes)
	buffers := cmp.Or(cfg.Buffers, NewBuffers(cfg.MTUBytes))
	s.sender.buffers, s.receiver.buffers = buffers, buffers
	return s, nil
}

// State returns the session's state.
func (s *Session) State() State { return s.state }

// Connections returns how many connections carry the session: those of the end
// that has fewer. It is 0 until the handshake is done.
func (s *Session) Connections() int { return s.paired }

// observe takes the time of a call; time never goes back.
func (s *Session) observe(now time.Duration) time.Duration {
	s.now = max(s.now, now)
	return s.now
}

// open reports whether data and acknowledgements flow.
func (s *Session) open() bool { return s.state == Established || s.state == Closing }

// Receive takes one packet that arrived on a connection. Buf is not kept. An
// error means that the packet, or a part of it, was dropped.
func (s *Session) Receive(now time.Duration, conn int, buf []byte) error {
	now = s.observe(now)
	if s.state == Closed {
		return ErrClosed
	}
	p := &s.in
	if err := p.Decode(buf); err != nil {
		return err
	}
	if t := s.cfg.Tracer; t != nil {
		t.Received(now, conn, p)
		early := !p.Handshake && !s.open()
		err := s.handlePacket(now, conn, p)
		if err != nil {
			t.Dropped(now, conn, p, err)
		} else if early {
			t.Dropped(now, conn, p, errEarly)
		}
		s.trace(now)
		return err
	}
	return s.handlePacket(now, conn, p)
}

// handlePacket does what a packet asks for.
func (s *Session) handlePacket(now time.Duration, conn int, p *wire.Packet) error {
	switch {
	case p.Handshake:
		return s.receiveHandshake(now, conn, p)
	case !s.open():
		return nil // upstream too drops what comes before the handshake
	case p.Close:
		s.receiveClose()
		return nil
	case conn >= s.paired:
		return ErrConnection
	}
	c := &s.conns[conn]
	if _, err := p.AckRanges(); err != nil {
		return err
	}
	s.sender.receiveBytesRead(p.BytesRead)
	if len(p.AckStarts)+len(p.AckCounts) > 0 || s.caps.Recovery != nil {
		s.receiveAcks(now, c, p)
	}
	if s.state == Closing {
		s.advanceClose(now)
	}
	if p.Sequence > 0 {
		return s.receiver.receiveData(c, p)
	}
	return nil
}

// NextPacket appends to dst the encoding of the next packet that a connection
// should send, if there is one: call it when the connection's socket can take
// a packet, and tell what became of it by Sent or WriteError.
func (s *Session) NextPacket(now time.Duration, conn int, dst []byte) ([]byte, bool) {
	now = s.observe(now)
	c := &s.conns[conn]
	p := &s.out
	p.Reset()
	switch {
	case c.broken:
		return dst, false
	case c.handshakeDue:
		s.nextHandshake(c, p)
	case c.closeDue:
		s.nextClose(c, p)
	case !s.open() || conn >= s.paired:
		return dst, false
	case c.acksReady():
		s.nextAcks(now, c, p)
	case c.bytesReadDue:
		c.bytesReadDue = false
		p.BytesRead = s.receiver.report(now)
	default:
		resent := c.resent
		if !s.nextData(now, c, p) {
			return dst, false
		}
		if s.cfg.Tracer != nil {
			s.cfg.Tracer.Sent(now, conn, p, c.resent > resent)
		}
		return p.Append(dst), true
	}
	c.handed.add(pendingSend{})
	if s.cfg.Tracer != nil {
		s.cfg.Tracer.Sent(now, conn, p, false)
	}
	return p.Append(dst), true
}

// Ready reports whether NextPacket has to be called for a connection: it would return a packet or, with a policy that
// chooses connections or measures their rates, note that there is none. Ready itself changes nothing.
func (s *Session) Ready(now time.Duration, conn int) bool {
	now = s.observe(now)
	c := &s.conns[conn]
	if c.broken {
		return false
	}
	if c.handshakeDue || c.closeDue {
		return true
	}
	if !s.open() || conn >= s.paired {
		return false
	}
	return c.acksReady() || c.bytesReadDue || s.dataReady(now, c)
}

// Advance does what is due at now: call it when Deadline has come. Late calls
// are harmless.
func (s *Session) Advance(now time.Duration) {
	now = s.observe(now)
	if s.state == Dialing && now >= s.handshake.retryAt {
		s.repeatHandshake(now)
	}
	if s.open() {
		s.advanceTicks(now)
		s.sender.flushAfter(now, s.cfg.FlushInterval)
	}
	if s.state == Closing {
		s.advanceClose(now)
	}
	s.trace(now)
}

func (s *Session) advanceTicks(now time.Duration) {
	if due(&s.ackTick, now, s.cfg.AckInterval) {
		for i := range s.conns[:s.paired] {
			s.conns[i].tickAcks(s.cfg.MaxAckRanges)
		}
	}
	if due(&s.timeoutTick, now, s.cfg.TimeoutCheckInterval) {
		for i := range s.conns[:s.paired] {
			if c := &s.conns[i]; s.caps.Recovery != nil {
				s.checkSilence(now, c)
			} else {
				s.checkTimeouts(now, c)
			}
		}
	}
	if due(&s.bytesReadTick, now, s.cfg.BytesReadInterval) && s.receiver.reportDue(now, s.cfg.BytesReadThreshold) {
		for i := range s.conns[:s.paired] {
			s.conns[i].bytesReadDue = true
		}
	}
}

// due reports whether a tick has come, and sets the next one: in step, or from
// now on if that has passed already.
func due(tick *time.Duration, now, interval time.Duration) bool {
	if now < *tick {
		return false
	}
	if *tick += interval; *tick <= now {
		*tick = now + interval
	}
	return true
}

// Deadline returns the time at which to call Advance next, or timing.Never. Any other
// call may change it.
func (s *Session) Deadline() time.Duration {
	next := timing.Never
	if s.state == Dialing {
		next = s.handshake.retryAt
	}
	if !s.open() {
		return next
	}
	next = min(s.ackTick, s.timeoutTick, s.bytesReadTick, s.sender.flushDeadline())
	if s.state == Closing {
		next = min(next, s.closing.deadline())
	}
	if s.sender.waiting() {
		for i := range s.conns[:s.paired] {
			// Past ones need no call: the connection is ready already.
			c := &s.conns[i]
			if c.fullUntil > s.now {
				next = min(next, c.fullUntil)
			}
			if c.pausedUntil > s.now {
				next = min(next, c.pausedUntil)
			}
		}
	}
	if s.caps.Pacer != nil {
		next = min(next, s.paceDeadline())
	}
	return next
}

// EstablishedAt returns the time at which the handshake was done, 0 before.
func (s *Session) EstablishedAt() time.Duration { return s.establishedAt }
