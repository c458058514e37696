package session

import (
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"ncp-testbed/ncp-agent/policy"
	"ncp-testbed/ncp-agent/wire"
)

// holds returns the bytes of the heap in use.
func holds() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// hostilePeer is the other end of a session that does what it likes.
type hostilePeer struct {
	t   *testing.T
	s   *Session
	rng *rand.Rand
	now time.Duration
	buf []byte
}

func (h *hostilePeer) sends(conn int, p wire.Packet) error {
	h.buf = p.Append(h.buf[:0])
	return h.s.Receive(h.now, conn, h.buf)
}

// passes lets time pass and takes what the session sends.
func (h *hostilePeer) passes(d time.Duration) {
	h.now += d
	h.s.Advance(h.now)
	for c := range h.s.conns {
		for i := 0; ; i++ {
			packet, ok := h.s.NextPacket(h.now, c, h.buf[:0])
			if !ok {
				break
			}
			h.buf = packet
			h.s.Sent(h.now, c, 1)
			if i > 1<<20 {
				h.t.Fatal("a connection never stops to send")
			}
		}
	}
}

// Whatever a peer sends, a session holds no more than its windows and a bound
// of bookkeeping, and goes on.
func TestHostilePeersCostBoundedMemory(t *testing.T) {
	const mib = 1 << 20
	for name, c := range map[string]struct {
		handshake wire.Packet // with ids added
		most      int64
		do        func(h *hostilePeer, i int)
	}{
		"one byte in a packet, in order": {
			wire.Packet{WindowBytes: 4 * mib, MTUBytes: 1024}, 24 * mib,
			func(h *hostilePeer, i int) { h.sends(i%4, wire.Packet{Sequence: uint32(i + 1), Data: []byte{1}}) },
		},
		"sequences anywhere": {
			wire.Packet{WindowBytes: 4 * mib, MTUBytes: 1024}, 24 * mib,
			func(h *hostilePeer, i int) {
				h.sends(i%4, wire.Packet{Sequence: h.rng.Uint32(), Data: make([]byte, 1+i%1024)})
			},
		},
		"sequences up to the edge, from there backwards": {
			wire.Packet{WindowBytes: 4 * mib, MTUBytes: 1024}, 32 * mib,
			func(h *hostilePeer, i int) {
				h.sends(i%4, wire.Packet{Sequence: uint32(1<<17 - i), Data: make([]byte, 256)})
			},
		},
		"one packet again and again": {
			wire.Packet{WindowBytes: 4 * mib, MTUBytes: 1024}, 8 * mib,
			func(h *hostilePeer, i int) { h.sends(0, wire.Packet{Sequence: 2, Data: make([]byte, 1024)}) },
		},
		"more than the MTU": {
			wire.Packet{WindowBytes: 4 * mib, MTUBytes: 1024}, 8 * mib,
			func(h *hostilePeer, i int) { h.sends(i%4, wire.Packet{Sequence: 1, Data: make([]byte, 1025)}) },
		},
		"acknowledges all, whatever was sent": {
			wire.Packet{WindowBytes: 4 * mib, MTUBytes: 1024}, 16 * mib,
			func(h *hostilePeer, i int) {
				h.sends(i%4, wire.Packet{AckStarts: []uint32{1, h.rng.Uint32(), math.MaxUint32}, AckCounts: []uint32{math.MaxUint32, h.rng.Uint32(), math.MaxUint32}})
			},
		},
		"acknowledges nothing, reads all": {
			wire.Packet{WindowBytes: 4 * mib, MTUBytes: 1024}, 32 * mib,
			func(h *hostilePeer, i int) { h.sends(i%4, wire.Packet{BytesRead: h.s.sender.written}) },
		},
		"reads more than there is": {
			wire.Packet{WindowBytes: 4 * mib, MTUBytes: 1024}, 16 * mib,
			func(h *hostilePeer, i int) { h.sends(i%4, wire.Packet{BytesRead: math.MaxUint64}) },
		},
		"an MTU of 1": {
			wire.Packet{WindowBytes: math.MaxUint32, MTUBytes: 1}, 64 * mib,
			func(h *hostilePeer, i int) { h.sends(i%4, wire.Packet{BytesRead: h.s.sender.written}) },
		},
		"an MTU of 2³²−1 and a window of 1": {
			wire.Packet{WindowBytes: 1, MTUBytes: math.MaxUint32}, 2 * mib,
			func(h *hostilePeer, i int) { h.sends(i%4, wire.Packet{BytesRead: h.s.sender.written}) },
		},
		"handshakes": {
			wire.Packet{WindowBytes: 4 * mib, MTUBytes: 1024}, 16 * mib,
			func(h *hostilePeer, i int) {
				h.sends(i%4, wire.Packet{Handshake: true, WindowBytes: h.rng.Uint32(), MTUBytes: h.rng.Uint32(), ClientIDs: make([]string, i%70)})
			},
		},
	} {
		for _, rule := range policy.Names() {
			t.Run(name+", "+rule, func(t *testing.T) {
				before := holds()
				cfg := Default("1", "2", "3", "4")
				cfg.Policy = rule
				cfg.AckRepeats = 2
				s, err := New(cfg)
				if err != nil {
					t.Fatal(err)
				}
				h := &hostilePeer{t: t, s: s, rng: rand.New(rand.NewPCG(1, 1))}
				c.handshake.Handshake, c.handshake.ClientIDs = true, make([]string, 7)
				if err := h.sends(0, c.handshake); err != nil {
					t.Fatal(err)
				}
				data := make([]byte, 64<<10)
				for i := range 40_000 {
					c.do(h, i)
					if i%1000 == 0 {
						s.Write(h.now, data)
						h.passes(20 * ms)
						checkSession(t, s)
					}
				}
				grown := holds() - before
				runtime.KeepAlive(s)
				if grown > c.most {
					t.Errorf("holds %d KiB, want at most %d", grown>>10, c.most>>10)
				}
				t.Logf("holds %d KiB", grown>>10)
				if s.State() != Established {
					t.Errorf("state %v", s.State())
				}
			})
		}
	}
}

// Ranges that overlap a thousand times cost no more steps than there are
// packets in flight.
func TestManyRangesAreCheap(t *testing.T) {
	a, _ := pair(t, 1, nil)
	p := wire.Packet{}
	for range 10_000 {
		p.AckStarts = append(p.AckStarts, 1)
		p.AckCounts = append(p.AckCounts, math.MaxUint32)
	}
	buf := p.Append(nil)
	for round := range 100 {
		a.Write(0, make([]byte, 64<<10))
		drain(0, 0, a)
		if err := a.Receive(0, 0, buf); err != nil || a.Unacknowledged() != 0 {
			t.Fatalf("round %d: %v, %d packets left", round, err, a.Unacknowledged())
		}
		a.Receive(0, 0, (&wire.Packet{BytesRead: a.sender.written}).Append(nil))
	}
}

// What comes before the handshake is nothing: neither a close nor data.
func TestBeforeTheHandshake(t *testing.T) {
	for _, dial := range []bool{false, true} {
		s, _ := New(Default("1", "2"))
		if dial {
			s.Dial(0)
		}
		for _, p := range []wire.Packet{
			{Close: true}, {Sequence: 1, Data: []byte{1}}, {AckStarts: []uint32{1}}, {BytesRead: 5},
			{Handshake: true, Close: true}, {Handshake: true, ClientIDs: []string{"1"}, WindowBytes: 1 << 20},
		} {
			s.Receive(0, 0, p.Append(nil))
			if s.State() == Established || s.State() == Closed {
				t.Fatalf("dialled %v: state %v after %+v", dial, s.State(), p)
			}
		}
		good := wire.Packet{Handshake: true, ClientIDs: []string{"x", "y", "z"}, WindowBytes: 1 << 20, MTUBytes: 1024}
		if err := s.Receive(0, 1, good.Append(nil)); err != nil || s.Connections() != 2 {
			t.Errorf("dialled %v: %v, %d connections", dial, err, s.Connections())
		}
	}
}

// Packets of a connection that was not paired are refused, and change nothing.
func TestUnpairedConnection(t *testing.T) {
	s, _ := New(Default("1", "2", "3"))
	hello := wire.Packet{Handshake: true, ClientIDs: []string{"x"}, WindowBytes: 1 << 20, MTUBytes: 1024}
	if err := s.Receive(0, 2, hello.Append(nil)); err != nil || s.Connections() != 1 {
		t.Fatalf("%v, %d connections", err, s.Connections())
	}
	for c := 1; c < 3; c++ {
		for _, p := range []wire.Packet{{Sequence: 1, Data: []byte{1}}, {AckStarts: []uint32{1}}, {BytesRead: 1}} {
			if err := s.Receive(0, c, p.Append(nil)); !errors.Is(err, ErrConnection) {
				t.Errorf("connection %d, %+v: %v", c, p, err)
			}
		}
	}
	if s.Readable() || drain(60*ms, 1, s)+drain(60*ms, 2, s) > 0 {
		t.Error("it had an effect")
	}
}
