package session

// ring holds the items of consecutive indices base ≤ i < end, in storage that
// doubles when it is full. A pointer into it is good until the next extend.
type ring[T any] struct {
	items     []T // its length is a power of two, or 0
	base, end uint64
}

func (r *ring[T]) len() int { return int(r.end - r.base) }

func (r *ring[T]) has(i uint64) bool { return r.base <= i && i < r.end }

// at returns the item of index i, which must be in the ring.
func (r *ring[T]) at(i uint64) *T { return &r.items[i&uint64(len(r.items)-1)] }

// push adds one item at the end. Its old content is what pop left there.
func (r *ring[T]) push() *T {
	r.extend(r.end + 1)
	return r.at(r.end - 1)
}

// pop removes the first item. The caller has made it what push shall find.
func (r *ring[T]) pop() { r.base++ }

// extend moves the end forward, at most to base + the caller's own limit.
func (r *ring[T]) extend(end uint64) {
	if end <= r.end {
		return
	}
	if need := end - r.base; need > uint64(len(r.items)) {
		size := max(16, len(r.items))
		for uint64(size) < need {
			size *= 2
		}
		grown := make([]T, size)
		for i := r.base; i < r.end; i++ {
			grown[i&uint64(size-1)] = *r.at(i)
		}
		r.items = grown
	}
	r.end = end
}
