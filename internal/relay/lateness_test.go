package relay

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestQuantilesAreWithinABucket(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var all, first, second histogram
	var exact []time.Duration
	for i := range 20_000 {
		d := time.Duration(math.Exp(r.Float64() * 20))
		exact = append(exact, d)
		all.add(d)
		if i%3 == 0 {
			first.add(d)
		} else {
			second.add(d)
		}
	}
	first.merge(&second)
	if first != all {
		t.Error("two merged histograms are not the one of all")
	}
	slices.Sort(exact)
	for _, q := range []float64{0.01, 0.5, 0.9, 0.99, 1} {
		want := exact[max(0, int(math.Ceil(q*float64(len(exact))))-1)]
		if got := all.quantile(q); got < want || float64(got) > float64(want)*(1+1.0/subBuckets)+1 {
			t.Errorf("quantile %v: %d, want %d to a sixteenth above", q, got, want)
		}
	}
	var none histogram
	if none.quantile(0.5) != 0 {
		t.Error("a quantile of nothing is not 0")
	}
}

func TestBucketsCoverAllDurations(t *testing.T) {
	for _, ns := range []uint64{0, 1, 15, 16, 17, 31, 32, 1000, 1 << 40, math.MaxInt64} {
		b := bucketOf(ns)
		if upperBound(b) < time.Duration(ns) || b > 0 && upperBound(b-1) >= time.Duration(ns) {
			t.Errorf("%d ns is in the bucket from %d to %d", ns, upperBound(b-1)+1, upperBound(b))
		}
	}
}
