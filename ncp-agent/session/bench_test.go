package session

import (
	"testing"
	"time"
)

// loop carries packets between two established sessions without any path, in
// steps of the acknowledgement interval.
type loop struct {
	a, b *Session
	now  time.Duration
	data []byte
	buf  []byte
	read []byte
}

func newLoop(t testing.TB, connections int) *loop {
	t.Helper()
	ids := make([]string, connections)
	cfg := Default(ids...)
	a, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	b, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	l := &loop{a: a, b: b, data: make([]byte, 64<<10), read: make([]byte, 64<<10)}
	a.Dial(0)
	l.carry(a, b)
	l.carry(b, a)
	return l
}

func (l *loop) carry(from, to *Session) (packets int) {
	for c := range from.conns {
		for {
			packet, ok := from.NextPacket(l.now, c, l.buf[:0])
			if !ok {
				break
			}
			l.buf = packet
			from.Sent(l.now, c, 1)
			to.Receive(l.now, c, packet)
			packets++
		}
	}
	return packets
}

// step writes, carries and reads until the windows are full, then lets the
// interval pass. It gives the data packets carried.
func (l *loop) step() (packets int) {
	for {
		wrote := l.a.Write(l.now, l.data)
		packets += l.carry(l.a, l.b)
		for {
			if n, _ := l.b.Read(l.now, l.read); n == 0 {
				break
			}
		}
		if wrote == 0 {
			break
		}
	}
	l.now += 50 * time.Millisecond
	l.a.Advance(l.now)
	l.b.Advance(l.now)
	l.carry(l.b, l.a)
	return packets
}

func TestHotPathDoesNotAllocate(t *testing.T) {
	l := newLoop(t, 4)
	for range 50 {
		l.step()
	}
	if n := testing.AllocsPerRun(20, func() { l.step() }); n > 0 {
		t.Errorf("%v allocations per 50 ms of a full session, want 0", n)
	}
}

func BenchmarkSession(b *testing.B) {
	for _, connections := range []int{1, 4, 64} {
		b.Run(map[int]string{1: "1 connection", 4: "4 connections", 64: "64 connections"}[connections], func(b *testing.B) {
			l := newLoop(b, connections)
			b.ReportAllocs()
			b.SetBytes(1024)
			for n := 0; n < b.N; {
				n += max(1, l.step())
			}
		})
	}
}
