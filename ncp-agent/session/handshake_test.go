package session

import (
	"errors"
	"testing"

	"ncp-testbed/ncp-agent/wire"
)

func TestHandshakeTakesTheMinimum(t *testing.T) {
	a, err := New(Default("1", "2", "3"))
	if err != nil {
		t.Fatal(err)
	}
	a.Dial(0)
	answer := wire.Packet{Handshake: true, ClientIDs: []string{"x", "y"}, WindowBytes: 1 << 20, MTUBytes: 512}
	if err := a.Receive(0, 1, answer.Append(nil)); err != nil {
		t.Fatal(err)
	}
	if a.Connections() != 2 || a.sender.window != 1<<20 || a.sender.mtu != 512 {
		t.Errorf("%d connections, window %d, MTU %d", a.Connections(), a.sender.window, a.sender.mtu)
	}
	if got := a.policy.Window(0); got != 1024 {
		t.Errorf("window %v packets, want 2048/2", got)
	}
}

// W is no whole number of packets where the MTU does not divide the window, here as in ncp-go and in the judge.
func TestSessionWindowIsNotRounded(t *testing.T) {
	a, _ := pair(t, 2, func(c *Config) { c.Policy, c.MTUBytes = "nkp24", 1000 })
	if got := a.policy.Window(0); got != 4194.304/2 {
		t.Errorf("window %v packets, want half of 4 MiB / 1000 B", got)
	}
}

func TestHandshakeIsRepeatedAndAnsweredEachTime(t *testing.T) {
	cfg := Default("1")
	a, _ := New(cfg)
	b, _ := New(cfg)
	a.Dial(0)
	lost := 0
	for lost < 4 {
		lost += drain(a.now, 0, a)
		a.Advance(a.Deadline())
	}
	deliver(t, a.now, 0, a, b)
	if n := drain(b.now, 0, b); n != 1 {
		t.Fatalf("the accepting end answered %d times", n)
	}
	a.Advance(a.Deadline()) // the answer was lost: ask again
	deliver(t, a.now, 0, a, b)
	deliver(t, a.now, 0, b, a)
	if a.State() != Established {
		t.Fatalf("state %v", a.State())
	}
	again := wire.Packet{Handshake: true, ClientIDs: []string{"1"}, WindowBytes: 1, MTUBytes: 1}
	if err := a.Receive(a.now, 0, again.Append(nil)); err != nil {
		t.Fatal(err)
	}
	if a.Ready(a.now, 0) || a.sender.window != uint64(cfg.WindowBytes) {
		t.Error("the dialling end answered an answer, or took it twice")
	}
}

func TestHandshakeRefusesZeros(t *testing.T) {
	for _, p := range []wire.Packet{
		{Handshake: true, ClientIDs: []string{"1"}, MTUBytes: 1024},
		{Handshake: true, ClientIDs: []string{"1"}, WindowBytes: 1 << 20},
		{Handshake: true, WindowBytes: 1 << 20, MTUBytes: 1024},
	} {
		s, _ := New(Default("1"))
		if err := s.Receive(0, 0, p.Append(nil)); !errors.Is(err, ErrHandshake) || s.State() != Idle {
			t.Errorf("%+v: %v, state %v", p, err, s.State())
		}
	}
}
