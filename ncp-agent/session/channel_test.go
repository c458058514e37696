package session

import (
	"container/heap"
	"math/rand/v2"
	"testing"
	"time"
)

// path is one direction of one connection in virtual time, with mockconn's
// semantics: packets leave at a rate, a full queue makes the sender wait, and
// the delay comes after.
type path struct {
	pps    float64
	delay  time.Duration
	queue  int // packets that wait or are being sent; the sender waits beyond
	loss   float64
	jitter time.Duration // added delay, uniform: reorders
	copies float64       // chance of a second copy
	freeAt time.Duration
	queued int
}

// event is something that happens at a time; ties keep the order of making.
type event struct {
	at    time.Duration
	order int
	do    func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].order < e[j].order
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// world drives two sessions over paths in virtual time.
type world struct {
	t      testing.TB
	now    time.Duration
	rng    *rand.Rand
	events events
	order  int
	ends   [2]*Session
	paths  [2][]*path // paths[i]: from end i
	buf    []byte
	onStep func() // after every event
	app    func() // lets the applications write and read
	sees   func(end, conn int, packet []byte)
	// checkReady: whoever gives a packet must have been ready.
	checkReady bool
}

func newWorld(t testing.TB, seed uint64, a, b Config, forward, back []path) *world {
	t.Helper()
	w := &world{t: t, rng: rand.New(rand.NewPCG(seed, 1))}
	for i, cfg := range []Config{a, b} {
		s, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		w.ends[i] = s
	}
	for i, paths := range [][]path{forward, back} {
		for _, p := range paths {
			w.paths[i] = append(w.paths[i], &p)
		}
	}
	w.ends[0].Dial(0)
	return w
}

func (w *world) at(t time.Duration, do func()) {
	w.order++
	heap.Push(&w.events, event{t, w.order, do})
}

// pump lets every connection send while its path takes packets.
func (w *world) pump() {
	for i, s := range w.ends {
		for c, p := range w.paths[i] {
			for p.queued < p.queue {
				ready := !w.checkReady || s.Ready(w.now, c)
				packet, ok := s.NextPacket(w.now, c, w.buf[:0])
				if !ok {
					break
				}
				if !ready {
					w.t.Fatalf("at %v connection %d of end %d gives a packet and was not ready", w.now, c, i)
				}
				w.buf = packet
				s.Sent(w.now, c, 1)
				w.send(1-i, c, p, packet)
			}
		}
	}
}

func (w *world) send(to, conn int, p *path, packet []byte) {
	if w.sees != nil {
		w.sees(1-to, conn, packet)
	}
	p.freeAt = max(p.freeAt, w.now) + time.Duration(float64(time.Second)/p.pps)
	p.queued++
	w.at(p.freeAt, func() { p.queued-- })
	if w.rng.Float64() < p.loss {
		return
	}
	copies := 1
	if w.rng.Float64() < p.copies {
		copies = 2
	}
	for range copies {
		held := append([]byte(nil), packet...)
		delay := p.delay
		if p.jitter > 0 {
			delay += time.Duration(w.rng.Int64N(int64(p.jitter)))
		}
		w.at(p.freeAt+delay, func() {
			w.ends[to].Receive(w.now, conn, held)
		})
	}
}

// run goes on until done or the time is up, and reports whether it is done.
func (w *world) run(until time.Duration, done func() bool) bool {
	for w.now < until {
		if w.app != nil {
			w.app()
		}
		w.pump()
		if w.onStep != nil {
			w.onStep()
		}
		if done() {
			return true
		}
		next := until
		if len(w.events) > 0 {
			next = min(next, w.events[0].at)
		}
		for _, s := range w.ends {
			d := s.Deadline()
			if d <= w.now {
				w.t.Fatalf("at %v the deadline is %v: time stands still", w.now, d)
			}
			next = min(next, d)
		}
		w.now = next
		for len(w.events) > 0 && w.events[0].at <= w.now {
			heap.Pop(&w.events).(event).do()
		}
		for _, s := range w.ends {
			if s.Deadline() <= w.now {
				s.Advance(w.now)
			}
		}
	}
	return done()
}

// transfer writes a known byte stream at one end and checks it at the other.
type transfer struct {
	t        testing.TB
	from, to *Session
	total    int
	written  int
	read     int
	buf      [4096]byte
}

func streamByte(i int) byte { return byte(uint32(i) * 2654435761 >> 23) }

func (x *transfer) step(now time.Duration) {
	for x.written < x.total {
		part := x.buf[:min(len(x.buf), x.total-x.written)]
		for i := range part {
			part[i] = streamByte(x.written + i)
		}
		n := x.from.Write(now, part)
		x.written += n
		if n < len(part) {
			break
		}
	}
	for {
		n, err := x.to.Read(now, x.buf[:])
		for i, b := range x.buf[:n] {
			if b != streamByte(x.read+i) {
				x.t.Fatalf("byte %d is %d, want %d", x.read+i, b, streamByte(x.read+i))
			}
		}
		x.read += n
		if n == 0 || err != nil {
			return
		}
	}
}

func (x *transfer) done() bool { return x.read == x.total && x.from.Unacknowledged() == 0 }
