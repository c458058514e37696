package session

import (
	"time"

	"ncp-testbed/ncp-agent/policy"
	"ncp-testbed/ncp-agent/wire"
)

// handshake repeats the dialling end's handshake. The other end answers each
// one that arrives, so that a lost answer is repeated too. Upstream sends both
// once, and drops repeats once it is established: repeating is compatible.
type handshake struct {
	dialled bool
	retryAt time.Duration
	retry   time.Duration
}

// Dial starts the handshake on all connections.
func (s *Session) Dial(now time.Duration) {
	now = s.observe(now)
	if s.state != Idle {
		return
	}
	s.state = Dialing
	s.handshake = handshake{dialled: true, retry: handshakeFirstRetry}
	s.repeatHandshake(now)
	s.trace(now)
}

func (s *Session) repeatHandshake(now time.Duration) {
	for i := range s.conns {
		s.conns[i].handshakeDue = true
	}
	s.handshake.retryAt = now + s.handshake.retry
	s.handshake.retry = min(2*s.handshake.retry, handshakeMaxRetry)
}

func (s *Session) nextHandshake(c *connection, p *wire.Packet) {
	c.handshakeDue = false
	p.Handshake = true
	p.ClientIDs = append(p.ClientIDs, s.cfg.ClientIDs...)
	p.WindowBytes = s.cfg.WindowBytes
	p.MTUBytes = s.cfg.MTUBytes
}

func (s *Session) receiveHandshake(now time.Duration, conn int, p *wire.Packet) error {
	if p.WindowBytes == 0 || p.MTUBytes == 0 || len(p.ClientIDs) == 0 {
		return ErrHandshake
	}
	if s.open() {
		if !s.handshake.dialled && conn < s.paired {
			s.conns[conn].handshakeDue = true
		}
		return nil
	}
	return s.establish(now, p)
}

// establish takes the smaller of both ends' windows, MTUs and numbers of
// connections, and starts the window policy.
func (s *Session) establish(now time.Duration, p *wire.Packet) error {
	window := min(s.cfg.WindowBytes, p.WindowBytes)
	mtu := min(s.cfg.MTUBytes, p.MTUBytes)
	paired := min(len(s.conns), len(p.ClientIDs))
	windowPackets := float64(window) / float64(mtu)
	initial := s.cfg.InitialWindows
	if initial != nil {
		initial = initial[:min(paired, len(initial))]
	}
	started, err := policy.Start(s.cfg.Policy, policy.Setup{
		Connections: paired, SessionWindowPackets: windowPackets, Initial: initial, AckInterval: s.cfg.AckInterval,
	})
	if err != nil {
		return err
	}
	s.policy = started
	s.caps = policy.CapabilitiesOf(started)
	s.paired = paired
	s.sender.start(window, mtu, windowPackets, paired)
	if s.caps.Chooser != nil {
		s.sender.keepUnsent(windowPackets)
	}
	s.state = Established
	s.establishedAt = now
	s.ackTick = now + s.cfg.AckInterval
	s.timeoutTick = now + s.cfg.TimeoutCheckInterval
	s.bytesReadTick = now + s.cfg.BytesReadInterval
	for i := range s.conns {
		s.conns[i].handshakeDue = !s.handshake.dialled && i < paired
	}
	return nil
}
