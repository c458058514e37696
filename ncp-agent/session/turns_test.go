package session

import (
	"slices"
	"testing"
)

// serve lets each connection that asks have its turn, and returns who was served, and with how many packets.
func serve(t *Turns, full map[int]bool, asking ...int) (served [][2]int) {
	for _, c := range asking {
		t.Ask(c)
	}
	for c, ok := t.Next(); ok; c, ok = t.Next() {
		n := t.Packets()
		t.End(n)
		t.Sent(c, !full[c])
		served = append(served, [2]int{c, n})
	}
	return served
}

func TestTurns(t *testing.T) {
	turns := NewTurns([]int{0, 16, 0})
	for i, c := range []struct {
		asking []int
		full   map[int]bool
		want   [][2]int
	}{
		{asking: []int{2, 0, 2}, want: [][2]int{{2, 1}, {0, 1}}},
		{asking: []int{1}, want: [][2]int{{1, 1}}},
		{asking: []int{0, 1}, want: [][2]int{{0, 2}, {1, 2}}},
		{asking: []int{0, 1}, want: [][2]int{{0, 4}, {1, 2}}}, // an eighth of its queue
		{asking: []int{0, 2}, full: map[int]bool{0: true}, want: [][2]int{{0, 8}, {2, 2}}},
		{asking: []int{0, 2}, want: [][2]int{{0, 1}, {2, 4}}},
	} {
		if got := serve(turns, c.full, c.asking...); !slices.Equal(got, c.want) {
			t.Errorf("%d: served %v, want %v", i, got, c.want)
		}
	}
	for range 10 {
		serve(turns, nil, 2)
	}
	if got := serve(turns, nil, 2); got[0][1] != MaxBatch {
		t.Errorf("%d packets in a turn, want at most %d", got[0][1], MaxBatch)
	}
}

// Who was served longest ago is asked first; who found nothing keeps its place.
func TestOrderOfTurns(t *testing.T) {
	turns := NewTurns([]int{0, 0, 0})
	turns.Ask(0)
	turns.End(1)
	turns.Ask(1)
	turns.End(0)
	if got := turns.Order(); !slices.Equal(got, []int{1, 2, 0}) {
		t.Errorf("asked in the order %v", got)
	}
	if c, ok := turns.Next(); ok {
		t.Errorf("it is the turn of %d, which has not asked", c)
	}
}
