package linkmodel

// ring is a first-in-first-out queue that grows when it must and allocates at no other time.
type ring[T any] struct {
	items []T // its length is a power of two, or 0
	head  int
	count int
}

// push adds an item at the back, which the caller fills in: it is empty.
func (r *ring[T]) push() *T {
	if r.count == len(r.items) {
		larger := make([]T, max(64, 2*len(r.items)))
		n := copy(larger, r.items[r.head:])
		copy(larger[n:], r.items[:r.head])
		r.items, r.head = larger, 0
	}
	r.count++
	return r.back()
}

func (r *ring[T]) front() *T { return &r.items[r.head] }

func (r *ring[T]) back() *T { return &r.items[(r.head+r.count-1)&(len(r.items)-1)] }

// pop removes the front, and keeps nothing of it.
func (r *ring[T]) pop() {
	var none T
	r.items[r.head] = none
	r.head = (r.head + 1) & (len(r.items) - 1)
	r.count--
}
