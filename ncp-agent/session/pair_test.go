package session

import (
	"testing"
	"time"

	"ncp-testbed/ncp-agent/wire"
)

const ms = time.Millisecond

// pair makes two established sessions of n connections; the handshake takes
// no time.
func pair(t *testing.T, n int, change func(*Config)) (a, b *Session) {
	t.Helper()
	cfg := Default([]string{"1", "2", "3"}[:n]...)
	if change != nil {
		change(&cfg)
	}
	var ends [2]*Session
	for i := range ends {
		s, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		ends[i] = s
	}
	a, b = ends[0], ends[1]
	a.Dial(0)
	deliver(t, 0, 0, a, b)
	deliver(t, 0, 0, b, a)
	for c := range n {
		drain(0, c, a)
		drain(0, c, b)
	}
	if a.State() != Established || b.State() != Established {
		t.Fatalf("states %v and %v", a.State(), b.State())
	}
	return a, b
}

// take returns the next packet of a connection, decoded.
func take(t *testing.T, now time.Duration, c int, s *Session) (wire.Packet, bool) {
	t.Helper()
	buf, ok := s.NextPacket(now, c, nil)
	var p wire.Packet
	if ok {
		s.Sent(now, c, 1)
		if err := p.Decode(buf); err != nil {
			t.Fatal(err)
		}
	}
	return p, ok
}

func deliver(t *testing.T, now time.Duration, c int, from, to *Session) {
	t.Helper()
	p, ok := take(t, now, c, from)
	if !ok {
		t.Fatalf("at %v connection %d has nothing to send", now, c)
	}
	if err := to.Receive(now, c, p.Append(nil)); err != nil {
		t.Fatal(err)
	}
}

// drain throws away what a connection would send, and counts it.
func drain(now time.Duration, c int, s *Session) int {
	n := 0
	for {
		if _, ok := s.NextPacket(now, c, nil); !ok {
			return n
		}
		s.Sent(now, c, 1)
		n++
	}
}

func writeAll(t *testing.T, now time.Duration, s *Session, n int) {
	t.Helper()
	if got := s.Write(now, make([]byte, n)); got != n {
		t.Fatalf("wrote %d of %d bytes", got, n)
	}
}
