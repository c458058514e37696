package cubic

import (
	"math"
	"testing"
	"time"
)

// Slow start, up to the threshold; CUBIC from there on; and both again after a timeout.
func TestSender(t *testing.T) {
	s := NewSender(10)
	want := func(when string, packets, threshold float64) {
		t.Helper()
		if math.Abs(s.Packets-packets) > 1e-9 || s.Threshold != threshold {
			t.Fatalf("%s: a window of %v up to %v, want %v and %v", when, s.Packets, s.Threshold, packets, threshold)
		}
	}
	s.EndRound(time.Second, 0.1)
	want("a round trip alone", 10, math.Inf(1))
	s.Acked(90)
	want("slow start", 100, math.Inf(1))
	s.Lost(time.Second)
	want("a loss", 70, 70)
	s.Acked(5)
	want("an acknowledgement after slow start", 70, 70)
	s.EndRound(1100*time.Millisecond, 0.1)
	if !(s.Packets > 70 && s.Packets < 100) {
		t.Fatalf("a window of %v a round trip after 70", s.Packets)
	}
	before := s.Packets
	s.TimedOut(2*time.Second, true, 1)
	want("a timeout", 1, 0.7*before)
	s.TimedOut(3*time.Second, false, 1)
	want("the next", 1, 0.7*before)
	s.Acked(1000)
	want("slow start to its end", 0.7*before, 0.7*before)
}

// RFC 9438: 0.7 of the window after a loss, and all of it again after K.
func TestWindow(t *testing.T) {
	var w Window
	w.Start(0, 100)
	w.Lost(0)
	if w.Packets != 70 {
		t.Fatalf("%v packets after a loss of 100", w.Packets)
	}
	const rtt = 50 * time.Millisecond
	k := plateau(100)
	for now := rtt; now <= k; now += rtt {
		w.Grow(now, rtt.Seconds())
		if now < k/2 && w.Packets > 97 {
			t.Fatalf("%v packets already at %v, K is %v", w.Packets, now, k)
		}
	}
	if math.Abs(w.Packets-100) > 2 && w.Packets != w.reno {
		t.Errorf("%v packets after K = %v, want 100", w.Packets, k)
	}
}
