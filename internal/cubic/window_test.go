package cubic

import (
	"math"
	"testing"
	"time"
)

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
