package sim

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// An agenda and a list agree with a search through all.
func TestAgendaFindsWhatIsDue(t *testing.T) {
	const n = 50
	r := rand.New(rand.NewPCG(1, 2))
	a, l := newAgenda(n, 0), newList(n)
	all := make([]time.Duration, n)
	for range 5000 {
		i := r.IntN(n)
		all[i] = time.Duration(r.IntN(20))
		a.set(i, all[i])
		if first := a.first(-1); first != slices.Min(all) {
			t.Fatalf("first %v, want %v", first, slices.Min(all))
		}
		now := time.Duration(r.IntN(20))
		a.due(now, l)
		a.due(now, l) // once is enough
		for want, at := range all {
			if at > now {
				continue
			}
			if got, ok := l.take(); !ok || got != want {
				t.Fatalf("%d, %v is due at %v, want %d", got, ok, now, want)
			}
		}
		if got, ok := l.take(); ok {
			t.Fatalf("%d is due too", got)
		}
	}
}

func TestAgendaOfNothing(t *testing.T) {
	if at := newAgenda(0, 0).first(7); at != 7 {
		t.Errorf("the first of nothing is at %v", at)
	}
}
