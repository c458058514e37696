package sim

import (
	"math"
	"slices"
	"testing"
)

// choosers are others' published schedulers.
var choosers = map[string]bool{"minrtt": true, "blest": true, "ecf": true}

// Who is asked first does not matter to a policy that chooses: it leaves a
// segment to one that is asked later.
func TestChoosersDoNotMindTheOrder(t *testing.T) {
	t.Parallel()
	for name := range choosers {
		for _, q := range queueKinds {
			paths := slices.Clone(rows[1].paths)
			one := simulate(t, transferOver(paths, q, name, 4<<20)).Transfers[0]
			slices.Reverse(paths)
			other := simulate(t, transferOver(paths, q, name, 4<<20)).Transfers[0]
			if a, b := goodput(&one), goodput(&other); math.Abs(a/b-1) > 0.05 {
				t.Errorf("%s, %s: %.3f MiB/s, the other way round %.3f", name, q.name, a, b)
			}
		}
	}
}

// ECF's own point: at the end of the data a slow path is left alone, so that
// all is there sooner than with MinRTT.
func TestECFEndsSoonerThanMinRTT(t *testing.T) {
	t.Parallel()
	ecf := simulate(t, transferOver(rows[1].paths, tinyQueue, "ecf", 4<<20)).Transfers[0]
	minRTT := simulate(t, transferOver(rows[1].paths, tinyQueue, "minrtt", 4<<20)).Transfers[0]
	if ecf.ReceivedAt >= minRTT.ReceivedAt {
		t.Errorf("ECF ends after %v, MinRTT after %v", ecf.ReceivedAt, minRTT.ReceivedAt)
	}
}
