package relay

import "time"

import "math/bits"

// Buckets of a histogram: 16 for each doubling, so a quantile is off by at most 6%.
const (
	subBuckets    = 16
	subBucketBits = 4
)

// histogram counts durations; negative ones count as 0.
type histogram struct {
	buckets [64 * subBuckets]uint32
	count   uint64
	max     time.Duration
}

func (h *histogram) add(d time.Duration) {
	d = max(0, d)
	h.buckets[bucketOf(uint64(d))]++
	h.count++
	h.max = max(h.max, d)
}

func bucketOf(ns uint64) int {
	if ns < subBuckets {
		return int(ns)
	}
	shift := bits.Len64(ns) - subBucketBits - 1
	return (shift+1)*subBuckets + int(ns>>shift)&(subBuckets-1)
}

// upperBound returns the largest duration of a bucket.
func upperBound(bucket int) time.Duration {
	if bucket < subBuckets {
		return time.Duration(bucket)
	}
	shift := bucket/subBuckets - 1
	return time.Duration((uint64(subBuckets+bucket%subBuckets+1) << shift) - 1)
}

// quantile returns the duration that the share q of all durations does not exceed; 0 without any.
func (h *histogram) quantile(q float64) time.Duration {
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
