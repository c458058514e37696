package session

import (
	"testing"
	"time"

	"ncp-testbed/ncp-agent/policy"
)

// vanish makes connection c carry nothing either way from one time to another.
// With told, both ends know it, as with a transport that breaks; without, the
// connection is silent.
func vanish(w *world, c int, from, to time.Duration, told bool) {
	w.at(from, func() {
		for end, s := range w.ends {
			w.paths[end][c].loss = 1
			if told {
				s.Break(w.now, c)
			}
		}
	})
	w.at(to, func() {
		for end, s := range w.ends {
			w.paths[end][c].loss = 0
			if told {
				s.Restore(w.now, c)
			}
		}
	})
}

// A connection vanishes in mid-session and returns: both directions go on over
// the others, all arrives, and the connection carries data again.
func TestConnectionVanishesAndReturns(t *testing.T) {
	for name, told := range map[string]bool{"broken": true, "silent": false} {
		for _, rule := range policy.Names() {
			t.Run(name+", "+rule, func(t *testing.T) {
				cfg := Default("1", "2", "3")
				cfg.Policy = rule
				line := path{pps: 200, delay: 20 * ms, queue: 10}
				w := newWorld(t, 1, cfg, cfg, []path{line, line, line}, []path{line, line, line})
				there := &transfer{t: t, from: w.ends[0], to: w.ends[1], total: 3 << 20}
				back := &transfer{t: t, from: w.ends[1], to: w.ends[0], total: 3 << 20}
				w.app = func() { there.step(w.now); back.step(w.now) }
				vanish(w, 1, 1*time.Second, 3*time.Second, told)
				// Without it for a while: the others have taken over.
				var before, during, after [2]int
				w.at(1500*ms, func() { before = [2]int{there.read, back.read} })
				w.at(3*time.Second, func() { during = [2]int{there.read, back.read} })
				var carried [2]uint64
				w.at(3500*ms, func() {
					carried = [2]uint64{w.ends[0].conns[1].received, w.ends[1].conns[1].received}
				})
				steps := 0
				w.onStep = func() {
					if steps++; steps%512 == 0 {
						checkSession(t, w.ends[0])
						checkSession(t, w.ends[1])
					}
				}
				if !w.run(time.Minute, func() bool { return there.done() && back.done() }) {
					t.Fatalf("stuck: %d and %d bytes read", there.read, back.read)
				}
				after = [2]int{there.read, back.read}
				for end := range w.ends {
					if during[end] <= before[end] || after[end] <= during[end] {
						t.Errorf("direction %d: %d, %d, %d bytes", end, before[end], during[end], after[end])
					}
					if got := w.ends[end].conns[1].received; got <= carried[end] {
						t.Errorf("end %d: the connection carried %d packets until half a second after its return, %d at the end", end, carried[end], got)
					}
				}
				t.Logf("done at %v; the last 1.5 s without the connection: %d and %d KiB", w.now, (during[0]-before[0])>>10, (during[1]-before[1])>>10)
			})
		}
	}
}

// What a broken connection had in flight is sent again at once, and what it had
// to acknowledge is acknowledged on another one.
func TestBreakMovesWhatWaits(t *testing.T) {
	a, b := pair(t, 2, nil)
	writeAll(t, 0, a, 6*1024)
	for range 3 {
		deliver(t, 0, 0, a, b)
	}
	for range 3 {
		take(t, 0, 1, a) // lost
	}
	b.Break(10*ms, 0)
	b.Advance(50 * ms)
	if b.Ready(50*ms, 0) {
		t.Error("a broken connection has something to send")
	}
	deliver(t, 50*ms, 1, b, a)
	if n := a.Unacknowledged(); n != 3 {
		t.Errorf("%d packets unacknowledged, want the 3 lost", n)
	}
	a.Break(60*ms, 1)
	a.Break(61*ms, 1) // harmless
	if n := a.conns[1].inFlight; n != 0 {
		t.Errorf("%d in flight on a broken connection", n)
	}
	for want := uint32(4); want <= 6; want++ {
		if p, ok := take(t, 60*ms, 0, a); !ok || p.Sequence != want {
			t.Errorf("sends %+v, %v, want sequence %d again", p, ok, want)
		}
	}
	b.Read(70*ms, make([]byte, 1024))
	b.Restore(80*ms, 0)
	if p, ok := take(t, 80*ms, 0, b); !ok || p.BytesRead != 1024 {
		t.Errorf("a restored connection tells %+v, %v, want the bytes read", p, ok)
	}
}

// A session whose only connection breaks waits, and goes on when it returns;
// that holds for the handshake and the close too.
func TestOnlyConnectionBreaks(t *testing.T) {
	for _, rule := range policy.Names() {
		t.Run(rule, func(t *testing.T) { breakOnly(t, rule) })
	}
}

func breakOnly(t *testing.T, rule string) {
	cfg := Default("1")
	cfg.Policy = rule
	line := []path{{pps: 1000, delay: 10 * ms, queue: 40}}
	w := newWorld(t, 1, cfg, cfg, line, line)
	x := &transfer{t: t, from: w.ends[0], to: w.ends[1], total: 1 << 20}
	w.app = func() { x.step(w.now) }
	vanish(w, 0, 1*ms, 600*ms, true)            // the handshake is on its way
	vanish(w, 0, 900*ms, 1900*ms, true)         // in mid-transfer
	vanish(w, 0, 2200*ms, 2210*ms, true)        // twice in a row
	vanish(w, 0, 2215*ms, 60*time.Second, true) // for long
	if !w.run(2*time.Minute, x.done) {
		t.Fatalf("stuck with %d bytes", x.read)
	}
	w.ends[0].Close(w.now)
	vanish(w, 0, w.now+1*ms, w.now+150*ms, true)
	if !w.run(w.now+time.Minute, func() bool { return w.ends[1].State() == Closed }) {
		t.Error("the close did not arrive")
	}
}

func TestSixtyFourConnections(t *testing.T) {
	ids := make([]string, MaxConnections)
	lines := make([]path, MaxConnections)
	for i := range lines {
		lines[i] = path{pps: float64(50 + 10*i), delay: time.Duration(1+i) * ms, queue: 20, loss: 0.001}
	}
	for _, rule := range policy.Names() {
		t.Run(rule, func(t *testing.T) {
			cfg := Default(ids...)
			cfg.Policy = rule
			w := newWorld(t, 3, cfg, cfg, lines, lines)
			there := &transfer{t: t, from: w.ends[0], to: w.ends[1], total: 5 << 18}
			back := &transfer{t: t, from: w.ends[1], to: w.ends[0], total: 1 << 18}
			w.app = func() { there.step(w.now); back.step(w.now) }
			for c := 0; c < MaxConnections; c += 3 {
				vanish(w, c, time.Duration(20+2*c)*ms, time.Duration(200+5*c)*ms, c%2 == 0)
			}
			if !w.run(time.Minute, func() bool { return there.done() && back.done() }) {
				t.Fatalf("stuck: %d and %d bytes read", there.read, back.read)
			}
			idle := 0 // a slow one that vanished may be
			for i := range MaxConnections {
				if w.ends[1].conns[i].received == 0 {
					idle++
				}
			}
			if idle > MaxConnections/4 {
				t.Errorf("%d connections carried nothing", idle)
			}
			t.Logf("done at %v", w.now)
		})
	}
	if _, err := New(Default(make([]string, MaxConnections+1)...)); err == nil {
		t.Error("made a session of 65 connections")
	}
}
