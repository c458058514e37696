package session

import (
	"encoding/binary"
	"testing"
	"time"

	"ncp-testbed/ncp-agent/wire"
)

// script reads a session's fate out of fuzzed bytes.
type script []byte

func (s *script) byte() byte {
	if len(*s) == 0 {
		return 0
	}
	b := (*s)[0]
	*s = (*s)[1:]
	return b
}

func (s *script) uint32() uint32 {
	var b [4]byte
	*s = (*s)[copy(b[:], *s):]
	return binary.LittleEndian.Uint32(b[:])
}

// number is small, or huge, or anything.
func (s *script) number() uint32 {
	switch b := s.byte(); b % 4 {
	case 0:
		return uint32(s.byte())
	case 1:
		return -uint32(s.byte())
	case 2:
		return uint32(b) << 10
	default:
		return s.uint32()
	}
}

func (s *script) packet() wire.Packet {
	var p wire.Packet
	kind := s.byte()
	if kind&1 != 0 {
		p.Sequence = s.number()
		p.Data = make([]byte, int(s.byte())*5)
	}
	if kind&2 != 0 {
		for range s.byte() % 8 {
			p.AckStarts = append(p.AckStarts, s.number())
		}
		if kind&4 != 0 {
			for range s.byte() % 8 {
				p.AckCounts = append(p.AckCounts, s.number())
			}
		}
	}
	if kind&8 != 0 {
		p.BytesRead = uint64(s.number()) << (s.byte() % 33)
	}
	if kind&0x70 == 0x70 {
		p.Handshake = true
		p.ClientIDs = make([]string, s.byte())
		p.WindowBytes, p.MTUBytes = s.number(), s.number()
	}
	p.Close = kind == 0x80
	return p
}

// FuzzSession does to a session whatever a peer and a driver could do, in any
// order. It must not crash or hang, its bookkeeping must agree with itself, and
// it must hold no more than its bounds.
func FuzzSession(f *testing.F) {
	f.Add([]byte{0x70, 2, 0, 0, 4, 0, 0, 3, 0, 0, 1, 0})
	f.Add([]byte("\x00\x70\x02\x03\xff\xff\xff\xff\x03\x01\x00\x00\x00\x03\xff\x01\x00\x02\x02\x01\x00\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := script(data)
		first := s.byte()
		cfg := Default("1", "2", "3", "4")
		cfg.AckRepeats = int(first >> 6)
		cfg.WindowBytes = uint32(1024 * (1 + int(s.byte())))
		if first&1 != 0 {
			cfg.Policy = "previous"
		}
		session, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if first&2 != 0 {
			session.Dial(0)
		}
		play(t, session, s)
	})
}

func play(t *testing.T, session *Session, s script) {
	now := time.Duration(0)
	var buf []byte
	for step := 0; len(s) > 0; step++ {
		op := s.byte()
		conn := int(op>>4) % 4
		switch op % 10 {
		case 0:
			p := s.packet()
			session.Receive(now, conn, p.Append(nil))
		case 1:
			n := min(int(s.byte()), len(s))
			session.Receive(now, conn, s[:n])
			s = s[n:]
		case 2:
			for range s.byte() {
				ready := session.Ready(now, conn)
				packet, ok := session.NextPacket(now, conn, buf[:0])
				if ok != ready {
					t.Fatalf("ready %v, and a packet %v", ready, ok)
				}
				if buf = packet; !ok {
					break
				}
			}
		case 3:
			session.Sent(now, conn, int(s.byte()))
		case 4:
			session.WriteError(now, conn)
		case 5:
			session.Write(now, make([]byte, s.number()%100000))
			session.Read(now, make([]byte, s.byte()))
			session.WriteMessage(now, make([]byte, s.byte()))
			session.ReadMessage(now, make([]byte, s.byte()))
		case 6:
			now += time.Duration(s.byte()) * 50 * time.Millisecond
			session.Advance(now)
		case 7:
			if s.byte() == 0 {
				session.Close(now)
			}
		case 8:
			session.Break(now, conn)
		case 9:
			session.Restore(now, conn)
		}
		if step%32 == 0 || len(s) == 0 {
			checkSession(t, session) // it costs more than the steps
		}
	}
}

// fataler is what testing.T and rapid.T share.
type fataler interface {
	Fatalf(format string, args ...any)
}

// checkSession checks the bookkeeping of a session against itself and its bounds.
func checkSession(t fataler, s *Session) {
	o, r := &s.sender, &s.receiver
	if s.open() && o.used() > o.window {
		t.Fatalf("%d bytes beyond what the peer read, window %d", o.used(), o.window)
	}
	if uint64(o.segments.len()) > o.span+1 || o.next < o.segments.base || o.next > o.segments.end {
		t.Fatalf("packets %d to %d, next %d, bound %d", o.segments.base, o.segments.end, o.next, o.span)
	}
	if r.used > r.window || uint64(r.segments.len()) > r.span {
		t.Fatalf("%d bytes in %d packets received, bounds %d, %d", r.used, r.segments.len(), r.window, r.span)
	}
	if o.resends.len() > o.maxResends+maxPendingSends*len(s.conns) {
		t.Fatalf("%d resends wait, bound %d", o.resends.len(), o.maxResends)
	}
	held := uint32(0)
	for i := r.segments.base; i < r.segments.end; i++ {
		a := r.segments.at(i)
		held += uint32(len(a.data) - a.taken)
	}
	if held != r.used {
		t.Fatalf("%d bytes held, %d counted", held, r.used)
	}
	flying := make([]int, len(s.conns))
	for i := o.segments.base; i < o.segments.end; i++ {
		for _, send := range o.segments.at(i).sends {
			if send.fate != underway {
				continue
			}
			f := s.conns[send.conn].flights.at(send.order)
			if !f.live || f.position != i {
				t.Fatalf("packet %d is not the one in flight on connection %d", i, send.conn)
			}
			flying[send.conn]++
		}
	}
	for i := range s.conns {
		c := &s.conns[i]
		if flying[i] != c.inFlight || uint64(c.flights.len()) > 2*o.span+1 || uint64(len(c.acks)) > r.span || len(c.recent) > s.cfg.MaxAckRanges {
			t.Fatalf("connection %d: %d in flight, %d counted, %d kept; %d acknowledgements wait",
				i, flying[i], c.inFlight, c.flights.len(), len(c.acks))
		}
	}
}
