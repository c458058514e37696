package clocksync

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"testing"
	"time"

	"ncp-testbed/internal/timing"
)

func answering(t *testing.T, key uint64) netip.AddrPort {
	t.Helper()
	conn, err := open("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := netip.MustParseAddrPort(conn.LocalAddr().String())
	conn.Close()
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, address.String(), key) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	for up := false; !up; {
		o := Options{To: address, Key: key, Packets: 1, Interval: time.Millisecond, Timeout: 10 * time.Millisecond}
		if err := Measure(context.Background(), o, func(s Sample) { up = !s.Lost }); err != nil {
			t.Fatal(err)
		}
	}
	return address
}

func measured(t *testing.T, o Options) []Sample {
	t.Helper()
	var all []Sample
	o.Interval, o.Timeout = 5*time.Millisecond, 500*time.Millisecond
	if err := Measure(context.Background(), o, func(s Sample) { all = append(all, s) }); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestOneClockHasNoOffset(t *testing.T) {
	all := measured(t, Options{To: answering(t, 7), Key: 7, Packets: 20, MTU: 1400})
	if len(all) != 20 {
		t.Fatalf("%d samples, want 20", len(all))
	}
	for i, s := range all {
		// There and back can't have been off by more than it took.
		if s.Lost || s.Number != uint64(i) || s.RTT < 0 || s.Offset > s.RTT || -s.Offset > s.RTT || s.CPU == 0 {
			t.Errorf("sample %d: %+v", i, s)
		}
	}
}

func TestAnotherRunsPacketsAreNotAnswered(t *testing.T) {
	for _, s := range measured(t, Options{To: answering(t, 7), Key: 8, Packets: 3}) {
		if !s.Lost || s.Sent == 0 {
			t.Errorf("%+v: want a lost one", s)
		}
	}
}

func TestWhatDoesNotFitIsNotSentInPieces(t *testing.T) {
	o := Options{To: answering(t, 7), Key: 7, Packets: 1, Interval: time.Millisecond, Timeout: time.Second, MTU: 1 << 16}
	if err := Measure(context.Background(), o, func(Sample) {}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%v, want %v", err, ErrTooLarge)
	}
}

// A socket that can't be read from any more is an error, and not read for ever.
func TestASocketThatFailsIsNoLoss(t *testing.T) {
	conn, err := open("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	go func() { failed <- receive(conn, Options{}, nil) }()
	select {
	case err := <-failed:
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("it goes on reading")
	}
}

// A clock that is 1000 ahead, 30 there, 10 in the other machine, 50 back.
func TestOffsetAndTimeUnderWay(t *testing.T) {
	packet := make([]byte, Bytes)
	copy(packet, magic[:])
	for at, value := range map[int]int64{keyAt: 7, numberAt: 3, sentAt: 100, arrivedAt: 1130, answeredAt: 1140} {
		put(packet, at, value)
	}
	s, ok := decode(packet, 7, 190)
	if !ok || s.RTT != 80 || s.Offset != 990 || s.Number != 3 {
		t.Errorf("%+v, %v: want 80 under way, and 1000 ahead but for half of the asymmetry of 20", s, ok)
	}
	if _, ok := decode(packet[:Bytes-1], 7, 190); ok {
		t.Error("a packet that is too short was read")
	}
}

// Whatever arrives is an answer of this run with the number and the times in it, or none.
func FuzzDecode(f *testing.F) {
	answer := make([]byte, Bytes)
	copy(answer, magic[:])
	put(answer, keyAt, 7)
	f.Add(answer, uint64(7), int64(190))
	f.Add(answer[:Bytes-1], uint64(7), int64(190))
	f.Add([]byte("ncpe"), uint64(0), int64(0))
	f.Fuzz(func(t *testing.T, packet []byte, key uint64, back int64) {
		s, ok := decode(packet, key, timing.Unix(back))
		if ours := len(packet) >= Bytes && string(packet[:4]) == "ncpe" && uint64(get(packet, keyAt)) == key; ok != ours {
			t.Fatalf("%x: taken %v, want %v", packet, ok, ours)
		}
		if !ok {
			return
		}
		if s.Lost || s.Number != uint64(get(packet, numberAt)) || int64(s.Sent) != get(packet, sentAt) || s.Idle != get(packet, idleAt) || s.CPU != get(packet, cpuAt) {
			t.Errorf("%+v: not what is in %x", s, packet)
		}
		there := get(packet, answeredAt) - get(packet, arrivedAt)
		if int64(s.RTT) != back-int64(s.Sent)-there {
			t.Errorf("%+v: want the time under way", s)
		}
	})
}

// What the kernel did not stamp on its arrival is not answered: its time would be when a program came to read it.
func TestWhatTheKernelDidNotStampIsNotAnswered(t *testing.T) {
	packet := make([]byte, Bytes)
	copy(packet, magic[:])
	put(packet, keyAt, 7)
	if answer(packet, nil, 7) || get(packet, arrivedAt) != 0 {
		t.Errorf("a packet without a timestamp is answered with %d", get(packet, arrivedAt))
	}
}
