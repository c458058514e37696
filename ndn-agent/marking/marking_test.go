package marking

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func marker(t testing.TB, mode string) *Marker {
	t.Helper()
	c, err := Default(mode)
	if err != nil {
		t.Fatal(err)
	}
	return &Marker{Config: c}
}

func TestHackathonMarksAboveItsThresholds(t *testing.T) {
	for _, c := range []struct {
		queue Queue
		want  bool
	}{
		{Queue{KernelBytes: 50_000}, false},
		{Queue{KernelBytes: 50_001}, true},
		{Queue{OwnPackets: 10, OwnBytes: 1 << 20}, false},
		{Queue{OwnPackets: 11}, true},
		{Queue{UnsentBytes: 1 << 20}, false},
	} {
		if m := marker(t, Hackathon); m.Mark(0, c.queue) != c.want || m.Marks > 1 {
			t.Errorf("%+v: want a mark: %t", c.queue, c.want)
		}
	}
}

func TestOff(t *testing.T) {
	m := marker(t, Off)
	if m.Mark(time.Hour, Queue{KernelBytes: 1 << 30, OwnPackets: 1 << 20}) {
		t.Error("marked")
	}
	if _, err := Default("codel"); err == nil {
		t.Error("a mode that there is not")
	}
}

// The first mark comes an interval after the queue went above the threshold,
// the one after the nth mark interval/√(n+1) later.
func TestSpacingOfMarks(t *testing.T) {
	m := marker(t, NFD)
	const step = 100 * time.Microsecond
	var marks []time.Duration
	for now := time.Duration(0); now < 5*time.Second; now += step {
		if m.Mark(now, Queue{KernelBytes: 65_000, OwnBytes: 537}) {
			marks = append(marks, now)
		}
	}
	if len(marks) < 100 {
		t.Fatalf("%d marks in 5 s", len(marks))
	}
	due := 100 * time.Millisecond
	for n, at := range marks {
		if at < due || at >= due+step {
			t.Fatalf("mark %d at %v, due at %v", n+1, at, due)
		}
		due += time.Duration(100 * float64(time.Millisecond) / math.Sqrt(float64(n+2)))
	}
}

// However the queue moves and packets come: no mark at or below the threshold,
// none within an interval of having been there, and never two that are closer
// than the spacing says on the average.
func TestSpacedMarksFollowTheQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, _ := Default(NFD)
		m := Marker{Config: c}
		now, calm, inIncident := time.Duration(0), time.Duration(0), 0
		above := false
		for range rapid.IntRange(1, 300).Draw(t, "packets") {
			now += time.Duration(rapid.IntRange(0, 200_000).Draw(t, "µs")) * time.Microsecond
			bytes := rapid.SampledFrom([]int{0, 65_536, 65_537, 65_537, 65_537, 200_000}).Draw(t, "bytes")
			marked := m.Mark(now, Queue{KernelBytes: bytes})
			switch {
			case bytes <= 65_536:
				above, inIncident = false, 0
				if marked {
					t.Fatal("marked without a queue")
				}
			case !above:
				above, calm = true, now
				if marked {
					t.Fatal("marked the first packet above the threshold")
				}
			case marked:
				inIncident++
				due := 0.0
				for n := range inIncident {
					due += 0.1 / math.Sqrt(float64(n+1))
				}
				if got := (now - calm).Seconds(); got < due-1e-6 {
					t.Fatalf("mark %d after %v s, due after %v", inIncident, got, due)
				}
			}
		}
	})
}
