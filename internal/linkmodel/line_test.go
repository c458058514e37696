package linkmodel

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Frames come off the line by due time, then by the order in which they were
// put there, whatever of both is in a row.
func TestLineGivesFramesByDueTime(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		type frame struct{ number, due int }
		var l line[int]
		var waiting []frame
		bytes := 0
		for number, step := range rapid.SliceOfN(rapid.IntRange(-1, 9), 1, 300).Draw(rt, "steps") {
			if step >= 0 { // a frame that is due so much after its number: some overtake
				waiting = append(waiting, frame{number, number + step})
				l.push(&Delivery[int]{Frame: number, Bytes: number, Due: time.Duration(number + step)})
				bytes += number
			} else if len(waiting) > 0 {
				i := slices.Index(waiting, slices.MinFunc(waiting, func(a, b frame) int { return cmp.Compare(a.due, b.due) }))
				first := l.first()
				if want := waiting[i]; first.Frame != want.number || first.Due != time.Duration(want.due) {
					rt.Fatalf("first is %+v, want %+v", first, want)
				}
				l.pop()
				bytes -= waiting[i].number
				waiting = slices.Delete(waiting, i, i+1)
			}
			if l.count() != len(waiting) || l.bytes != bytes || (l.first() == nil) != (len(waiting) == 0) {
				rt.Fatalf("%d frames, %d bytes, want %d and %d", l.count(), l.bytes, len(waiting), bytes)
			}
		}
	})
}
