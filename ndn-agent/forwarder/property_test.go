package forwarder

import (
	"fmt"
	"testing"
	"time"

	"ncp-testbed/ndn-agent/lp"
	"ncp-testbed/ndn-agent/packet"

	"pgregory.net/rapid"
)

// model is the pending Interest table as one would write it down: who waits
// for which name until when.
type model map[packet.Name]map[int]time.Duration

// Whoever asks, and however packets are mixed: Data goes to exactly the faces
// that wait for it, never back, never twice, and the table holds what is not
// over.
func TestPendingInterestTable(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const upstream = 9
		b := newBench(t, Config{})
		b.AddRoute("", upstream)
		waits := model{}
		now := time.Duration(0)
		nonce := uint32(0)
		for range rapid.IntRange(1, 120).Draw(rt, "steps") {
			now += time.Duration(rapid.IntRange(0, 400).Draw(rt, "ms")) * time.Millisecond
			name := mustName(fmt.Sprintf("/n/%d", rapid.IntRange(0, 3).Draw(rt, "name")))
			face := rapid.IntRange(0, 3).Draw(rt, "face")
			b.sent = nil
			switch rapid.IntRange(0, 3).Draw(rt, "what") {
			case 0, 1:
				nonce++
				i := packet.Interest{Name: name, Nonce: nonce, HopLimit: -1, Lifetime: time.Duration(rapid.IntRange(1, 1000).Draw(rt, "lifetime")) * time.Millisecond}
				b.ask(now, face, i, "")
				others, again := false, false
				for f, until := range waits[name] {
					if f == face {
						again = true
					}
					others = others || now <= until
				}
				if forwarded := len(b.sent) == 1 && b.sent[0].face == upstream; forwarded != (again || !others) || len(b.sent) > 1 {
					rt.Fatalf("%s from %d: sent %v, waits %v at %v", name, face, b.sent, waits[name], now)
				}
				if waits[name] == nil {
					waits[name] = map[int]time.Duration{}
				}
				waits[name][face] = now + i.Lifetime
			case 2:
				b.give(now, upstream, name.String(), 0)
				got := map[int]int{}
				for _, s := range b.sent {
					got[s.face]++
				}
				for f, until := range waits[name] {
					want := 0
					if now <= until {
						want = 1
					}
					if got[f] != want {
						rt.Fatalf("%s: face %d got %d times what it waited for until %v, at %v", name, f, got[f], until, now)
					}
					delete(got, f)
				}
				if len(got) > 0 {
					rt.Fatalf("%s went to %v, which did not ask", name, got)
				}
				delete(waits, name)
			case 3:
				b.Expire(now)
				for n, faces := range waits {
					over := true
					for _, until := range faces {
						over = over && now > until
					}
					if over {
						delete(waits, n)
					}
				}
				if b.pit.len() != len(waits) || len(b.pit.queue) != len(waits) {
					rt.Fatalf("%d entries, %d in the queue, want %d", b.pit.len(), len(b.pit.queue), len(waits))
				}
			}
		}
	})
}

// FuzzReceive feeds a forwarder whatever a peer may send.
func FuzzReceive(f *testing.F) {
	i, d := interest("/a/1", 1), packet.Data{Name: mustName("/a/1")}
	f.Add(i.Append(nil), d.Append(nil), "t", false)
	f.Add(i.Append(nil), i.Append(nil), "", true)
	register := packet.Interest{Name: registerCommand(mustName("/b")), Lifetime: time.Second, HopLimit: -1}
	f.Add(register.Append(nil), i.Append(nil), "", false)
	f.Fuzz(func(t *testing.T, first, second []byte, token string, nack bool) {
		b := newBench(t, Config{AcceptRegistrations: true, ContentStorePackets: 1})
		b.AddRoute("", 1)
		b.Receive(0, 0, lp.Packet{Network: first, PitToken: token})
		b.Receive(1, 1, lp.Packet{Network: second, PitToken: token, IsNack: nack})
		b.Receive(2, 2, lp.Packet{Network: first})
		b.FaceDown(0)
		b.Expire(time.Hour)
		if b.pit.len() != 0 || b.pit.prefixes != 0 || len(b.pit.queue) != 0 {
			t.Errorf("%d entries, %d prefixes, %d in the queue after all is over", b.pit.len(), b.pit.prefixes, len(b.pit.queue))
		}
	})
}
