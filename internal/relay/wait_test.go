package relay

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestAdvanceIsWhatMostWakesTake(t *testing.T) {
	var a advance
	for i := range 10_000 {
		late := time.Duration(8_000)
		if i%20 == 0 {
			late = 1_000_000 // held up
		}
		a.learn(late)
	}
	if a < 7_000 || a > 10_000 {
		t.Errorf("advance %d ns for wakes of 8000 ns", a)
	}
	for range 1000 {
		a.learn(1_000_000)
	}
	if a != maxAdvance {
		t.Errorf("advance %d ns, want the bound", a)
	}
	for range 10_000 {
		a.learn(0)
	}
	if a != 0 {
		t.Errorf("advance %d ns when wakes take nothing", a)
	}
}

func TestALoadIsBusyWhileManyFramesAreSent(t *testing.T) {
	var l load
	now := time.Duration(0)
	send := func(perSpan int) {
		for range 8 {
			now += loadSpan / 8
			l.add(now, perSpan/8)
		}
	}
	send(busyFrames / 2)
	if l.coalesceDelay() != 0 {
		t.Error("half as many frames as are too many are too many")
	}
	for span := range 3 {
		if send(2 * busyFrames); l.coalesceDelay() == 0 {
			t.Errorf("twice as many frames as are too many are not, in span %d", span)
		}
	}
	if send(100 * busyFrames); l.coalesceDelay() != maxCoalesce {
		t.Errorf("very many frames are gathered for %d ns", l.coalesceDelay())
	}
	now += 3 * loadSpan
	if l.add(now, 1); l.coalesceDelay() != 0 {
		t.Error("it is busy with frames of long ago")
	}
}

// While it is busy, what is due soon after the first of those that are due leaves with it: neither goes early.
func TestABusyWaiterGathersFrames(t *testing.T) {
	base := time.Now()
	now := func() time.Duration { return time.Since(base) }
	var monotonic unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &monotonic); err != nil {
		t.Fatal(err)
	}
	w, err := newWaiter(time.Duration(monotonic.Nano())-now(), now)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	w.advance = maxAdvance
	for _, sent := range []int{0, busyFrames} {
		deadline := now() + 5*time.Millisecond
		if _, err := w.wait(now(), deadline, 0, sent); err != nil {
			t.Fatal(err)
		}
		after := now() - deadline
		if least := map[int]time.Duration{0: -time.Duration(maxAdvance), busyFrames: busyFrames * coalesceEach}[sent]; after < least {
			t.Errorf("with %d frames sent it wakes %d ns after the first is due, want %d at least", sent, after, least)
		}
	}
}
