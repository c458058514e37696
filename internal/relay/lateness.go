package relay

import "math/bits"

// Buckets of a histogram: 16 for each doubling, so a quantile is off by at most 6%.
const (
	subBuckets    = 16
	subBucketBits = 4
)

// histogram counts durations in nanoseconds; negative ones count as 0.
type histogram struct {
	buckets [64 * subBuckets]uint32
	count   uint64
	max     int64
}

func (h *histogram) add(ns int64) {
	ns = max(0, ns)
	h.buckets[bucketOf(uint64(ns))]++
	h.count++
	h.max = max(h.max, ns)
}

func bucketOf(ns uint64) int {
	if ns < subBuckets {
		return int(ns)
	}
	shift := bits.Len64(ns) - subBucketBits - 1
	return (shift+1)*subBuckets + int(ns>>shift)&(subBuckets-1)
}

// upperBound is the largest duration of a bucket.
func upperBound(bucket int) int64 {
	if bucket < subBuckets {
		return int64(bucket)
	}
	shift := bucket/subBuckets - 1
	return int64((uint64(subBuckets+bucket%subBuckets+1) << shift) - 1)
}

// quantile is the duration that the share q of all durations does not exceed; 0 without any.
func (h *histogram) quantile(q float64) int64 {
	if h.count == 0 {
		return 0
	}
	rank := max(1, uint64(q*float64(h.count)+0.999999))
	var seen uint64
	for i, n := range h.buckets {
		if seen += uint64(n); seen >= rank {
			return min(upperBound(i), h.max)
		}
	}
	return h.max
}

func (h *histogram) merge(other *histogram) {
	for i, n := range other.buckets {
		h.buckets[i] += n
	}
	h.count += other.count
	h.max = max(h.max, other.max)
}

func (h *histogram) reset() { *h = histogram{} }
