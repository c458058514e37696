package forwarder

import (
	"fmt"
	"testing"
	"time"

	"ncp-testbed/ndn-agent/lp"
	"ncp-testbed/ndn-agent/packet"
	"ncp-testbed/ndn-agent/tlv"
)

// sending is one packet that a forwarder sent.
type sending struct {
	face     int
	interest *packet.Interest
	data     *packet.Data
	packet   lp.Packet
}

func (s sending) String() string {
	switch {
	case s.packet.IsNack:
		return fmt.Sprintf("%d: nack %d %s token %q", s.face, s.packet.Nack, s.interest.Name, s.packet.PitToken)
	case s.interest != nil:
		return fmt.Sprintf("%d: interest %s", s.face, s.interest.Name)
	default:
		return fmt.Sprintf("%d: data %s mark %d token %q", s.face, s.data.Name, s.packet.Mark, s.packet.PitToken)
	}
}

// bench is a forwarder with what it sent.
type bench struct {
	t testing.TB
	*Forwarder
	sent []sending
}

func newBench(t testing.TB, c Config) *bench {
	b := &bench{t: t}
	b.Forwarder = New(c, func(face int, p lp.Packet) {
		s := sending{face: face, packet: p}
		var err error
		if kind, _, _ := tlv.Number(p.Network); kind == packet.TypeInterest {
			s.interest, err = packet.DecodeInterest(append([]byte(nil), p.Network...))
		} else {
			s.data, err = packet.DecodeData(append([]byte(nil), p.Network...))
		}
		if err != nil {
			t.Fatal(err)
		}
		b.sent = append(b.sent, s)
	})
	return b
}

// expect compares what was sent since the last call.
func (b *bench) expect(want ...string) {
	b.t.Helper()
	var got []string
	for _, s := range b.sent {
		got = append(got, s.String())
	}
	b.sent = nil
	if fmt.Sprint(got) != fmt.Sprint(want) {
		b.t.Errorf("sent %q, want %q", got, want)
	}
}

func interest(uri string, nonce uint32) packet.Interest {
	return packet.Interest{Name: mustName(uri), Nonce: nonce, Lifetime: packet.DefaultLifetime, HopLimit: -1}
}

func (b *bench) ask(now time.Duration, face int, i packet.Interest, token string) {
	b.Receive(now, face, lp.Packet{Network: i.Append(nil), PitToken: token})
}

func (b *bench) give(now time.Duration, face int, uri string, mark uint64) {
	d := packet.Data{Name: mustName(uri), Freshness: time.Second, Content: []byte(uri)}
	b.Receive(now, face, lp.Packet{Network: d.Append(nil), Mark: mark})
}

const (
	left, right, up, far = 0, 1, 2, 3
)

func routed(t testing.TB, c Config) *bench {
	b := newBench(t, c)
	b.AddRoute(mustName("/a"), up)
	b.AddRoute(mustName("/a/far"), far)
	return b
}

func TestInterestsGoUpAndDataComesDown(t *testing.T) {
	b := routed(t, Config{})
	b.ask(0, left, interest("/a/1", 1), "L")
	b.ask(0, right, interest("/a/1", 2), "") // waits for the same Data
	b.ask(0, right, interest("/a/far/1", 3), "")
	b.expect("2: interest /a/1", "3: interest /a/far/1")
	b.give(1, far, "/a/1", 0) // from where nobody asked
	b.expect()
	b.give(1, up, "/a/1", 1)
	b.expect(`0: data /a/1 mark 1 token "L"`, `1: data /a/1 mark 1 token ""`)
	b.give(2, up, "/a/1", 0)
	b.expect()
	if s := b.Stats; s.Aggregated != 1 || s.Unsolicited != 2 || s.Pending != 1 || s.PendingMax != 2 {
		t.Errorf("%+v", s)
	}
}

func TestPrefixesAreAnswered(t *testing.T) {
	b := routed(t, Config{})
	i := interest("/a", 1)
	i.CanBePrefix, i.MustBeFresh = true, true
	b.ask(0, left, i, "")
	b.ask(0, left, interest("/a/v=1/seg=0", 2), "")
	b.expect("2: interest /a", "2: interest /a/v=1/seg=0")
	b.give(1, up, "/a/v=1/seg=0", 0)
	b.expect(`0: data /a/v=1/seg=0 mark 0 token ""`) // once, though it asked twice
	if b.pit.len() != 0 || b.pit.prefixes != 0 {
		t.Errorf("%d entries left, %d of them prefixes", b.pit.len(), b.pit.prefixes)
	}
}

func TestRetransmissionsGoUp(t *testing.T) {
	b := routed(t, Config{})
	b.ask(0, left, interest("/a/1", 1), "one")
	b.ask(time.Second, left, interest("/a/1", 2), "two")
	b.expect("2: interest /a/1", "2: interest /a/1")
	b.give(2*time.Second, up, "/a/1", 0)
	b.expect(`0: data /a/1 mark 0 token "two"`)
}

func TestLoopsAreRefused(t *testing.T) {
	b := routed(t, Config{})
	b.ask(0, left, interest("/a/1", 7), "")
	b.ask(0, up, interest("/a/1", 7), "")
	b.expect("2: interest /a/1", fmt.Sprintf("2: nack %d /a/1 token \"\"", lp.NackDuplicate))
	if b.Stats.Loops != 1 {
		t.Errorf("%+v", b.Stats)
	}
}

func TestWithoutARoute(t *testing.T) {
	b := routed(t, Config{})
	b.ask(0, left, interest("/b", 1), "T")
	b.ask(0, up, interest("/a/1", 2), "") // its only route is back
	b.expect(fmt.Sprintf("0: nack %d /b token \"T\"", lp.NackNoRoute), fmt.Sprintf("2: nack %d /a/1 token \"\"", lp.NackNoRoute))
	if b.Stats.NoRoute != 2 || b.pit.len() != 0 {
		t.Errorf("%+v", b.Stats)
	}
}

func TestHopLimit(t *testing.T) {
	b := routed(t, Config{})
	for hops := range 3 {
		i := interest(fmt.Sprintf("/a/%d", hops), 1)
		i.HopLimit = hops
		b.ask(0, left, i, "")
	}
	if len(b.sent) != 2 || b.sent[0].interest.HopLimit != 0 || b.sent[1].interest.HopLimit != 1 || b.Stats.HopLimit != 1 {
		t.Errorf("%v, %+v", b.sent, b.Stats)
	}
}

func TestNacksComeDown(t *testing.T) {
	b := routed(t, Config{})
	b.ask(0, left, interest("/a/1", 1), "L")
	b.ask(0, right, interest("/a/1", 2), "R")
	b.sent = nil
	nack := func(face int, nonce uint32) {
		i := interest("/a/1", nonce)
		b.Receive(1, face, lp.Packet{Network: i.Append(nil), IsNack: true, Nack: lp.NackNoRoute})
	}
	nack(up, 9)  // of an Interest that it did not get
	nack(far, 1) // from one that did not get it
	b.expect()
	nack(up, 1)
	b.expect(`0: nack 150 /a/1 token "L"`, `1: nack 150 /a/1 token "R"`)
	if b.pit.len() != 0 {
		t.Error("the entry is still there")
	}
}

func TestLifetimes(t *testing.T) {
	b := routed(t, Config{})
	short, long := interest("/a/1", 1), interest("/a/1", 2)
	short.Lifetime, long.Lifetime = time.Second, 1<<40*time.Millisecond
	b.ask(0, left, short, "")
	b.ask(0, right, long, "")
	b.ask(0, left, interest("/a/2", 3), "")
	b.sent = nil
	b.Expire(5 * time.Second)
	b.give(6*time.Second, up, "/a/1", 0)
	b.give(6*time.Second, up, "/a/2", 0)
	b.expect(`1: data /a/1 mark 0 token ""`)
	b.ask(0, right, long, "")
	b.Expire(maxLifetime + 1)
	if b.pit.len() != 0 || b.Stats.Expired != 2 {
		t.Errorf("%d entries, %+v", b.pit.len(), b.Stats)
	}
}

func TestContentStore(t *testing.T) {
	b := routed(t, Config{ContentStorePackets: 2})
	fetch := func(now time.Duration, name string) {
		b.ask(now, left, interest(name, uint32(now)), "")
		b.give(now, up, name, 1)
		b.sent = nil
	}
	fetch(0, "/a/1")
	fetch(1, "/a/2")
	b.ask(2, right, interest("/a/1", 9), "R")
	b.expect(`1: data /a/1 mark 0 token "R"`) // of the store, so no congestion
	fetch(3, "/a/3")                          // in the place of 2, which was not used since
	b.ask(4, right, interest("/a/2", 10), "")
	b.expect("2: interest /a/2")
	fresh := interest("/a/1", 11)
	fresh.MustBeFresh = true
	b.ask(time.Second-1, right, fresh, "")
	b.ask(time.Second, right, fresh, "")
	b.expect(`1: data /a/1 mark 0 token ""`, "2: interest /a/1")
	if b.Stats.StoreHits != 2 || len(b.store.named) != 2 || b.store.byUse.Len() != 2 {
		t.Errorf("%+v, %d stored", b.Stats, len(b.store.named))
	}
}

// registerCommand is the name, without a signature, of the command that routes
// a prefix to the face that sends it.
func registerCommand(prefix packet.Name) packet.Name {
	parameters := tlv.Append(nil, typeControlParameters, tlv.Append(nil, typeName, prefix))
	return commandPrefixes[0].Append(packet.ComponentGeneric, []byte("register")).Append(packet.ComponentGeneric, parameters)
}

func TestRegistration(t *testing.T) {
	b := newBench(t, Config{AcceptRegistrations: true})
	command := packet.Interest{Name: registerCommand(mustName("/mine")), Nonce: 1, Lifetime: time.Second, HopLimit: -1}
	b.ask(0, right, command, "T")
	if len(b.sent) != 1 || b.sent[0].data == nil || b.sent[0].data.Name != command.Name || b.sent[0].packet.PitToken != "T" ||
		string(b.sent[0].data.Content[2:5]) != "\x66\x01\xc8" {
		t.Fatalf("answered %v", b.sent)
	}
	b.sent = nil
	b.ask(0, left, interest("/mine/1", 2), "")
	b.expect("1: interest /mine/1")
	b.FaceDown(right)
	b.ask(0, left, interest("/mine/2", 3), "")
	b.expect(`0: nack 150 /mine/2 token ""`)

	closed := newBench(t, Config{})
	closed.ask(0, right, command, "")
	if len(closed.sent) != 1 || !closed.sent[0].packet.IsNack {
		t.Errorf("a forwarder that takes no registrations answered %v", closed.sent)
	}
}

// A face that is gone gets nothing, and who has its number next neither.
func TestFaceDown(t *testing.T) {
	b := routed(t, Config{})
	b.ask(0, left, interest("/a/1", 1), "")
	b.ask(0, right, interest("/a/1", 2), "")
	b.FaceDown(left)
	b.sent = nil
	b.give(1, up, "/a/1", 0)
	b.expect(`1: data /a/1 mark 0 token ""`)
	b.ask(1, left, interest("/a/2", 3), "")
	b.FaceDown(up)
	b.ask(2, right, interest("/a/2", 4), "") // is not left waiting for it
	b.expect("2: interest /a/2", "2: interest /a/2")
}

func TestPendingInterestsAreBounded(t *testing.T) {
	b := routed(t, Config{})
	for i := range maxPending + 10 {
		b.ask(0, left, interest(fmt.Sprintf("/a/%d", i), 1), "")
	}
	if b.pit.len() != maxPending || b.Stats.Refused != 10 || !b.sent[len(b.sent)-1].packet.IsNack {
		t.Errorf("%d entries, %+v", b.pit.len(), b.Stats)
	}
}

func TestMalformedPacketsAreCounted(t *testing.T) {
	b := routed(t, Config{})
	for _, wire := range [][]byte{{5, 0}, {6, 0}, {100, 0}, {5}, {}} {
		b.Receive(0, left, lp.Packet{Network: wire})
	}
	b.Receive(0, left, lp.Packet{Network: []byte{6, 0}, IsNack: true})
	if b.Stats.Malformed != 6 || len(b.sent) != 0 {
		t.Errorf("%+v", b.Stats)
	}
}
