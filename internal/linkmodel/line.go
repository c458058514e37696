package linkmodel

// onLine is a frame past the queue, on its way to the far end.
type onLine[T any] struct {
	Delivery[T]
	order uint64 // among frames that are due at once
}

// line holds frames by due time. Those that are due no earlier than all before them stand in a row: most do, and
// cost no search. The others are in a heap.
type line[T any] struct {
	row   ring[onLine[T]]
	heap  []onLine[T]
	order uint64
	bytes int
}

func before[T any](a, b *onLine[T]) bool {
	return a.Due < b.Due || a.Due == b.Due && a.order < b.order
}

func (l *line[T]) count() int { return l.row.count + len(l.heap) }

// first is the frame that is due first; nil if there is none.
func (l *line[T]) first() *onLine[T] {
	switch {
	case l.row.count == 0 && len(l.heap) == 0:
		return nil
	case len(l.heap) == 0 || l.row.count > 0 && before(l.row.front(), &l.heap[0]):
		return l.row.front()
	}
	return &l.heap[0]
}

// push puts a frame on the line, and returns where it is until the next push or pop.
func (l *line[T]) push(d *Delivery[T]) *Delivery[T] {
	order := l.order
	l.order++
	l.bytes += d.Bytes
	if l.row.count == 0 || d.Due >= l.row.back().Due {
		slot := l.row.push()
		slot.Delivery, slot.order = *d, order
		return &slot.Delivery
	}
	f := onLine[T]{*d, order}
	l.heap = append(l.heap, f)
	h := l.heap
	i := len(h) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !before(&f, &h[parent]) {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = f
	return &h[i].Delivery
}

// pop removes the first frame.
func (l *line[T]) pop() {
	first := l.first()
	l.bytes -= first.Bytes
	if l.row.count > 0 && first == l.row.front() {
		l.row.pop()
		return
	}
	h := l.heap
	last := h[len(h)-1]
	h[len(h)-1] = onLine[T]{}
	h = h[:len(h)-1]
	l.heap = h
	for i := 0; len(h) > 0; {
		child := 2*i + 1
		if child+1 < len(h) && before(&h[child+1], &h[child]) {
			child++
		}
		if child >= len(h) || !before(&h[child], &last) {
			h[i] = last
			break
		}
		h[i] = h[child]
		i = child
	}
}
