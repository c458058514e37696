package model

// onLine is a frame past the queue, on its way to the far end.
type onLine[T any] struct {
	frame        T
	bytes        int
	arrival, due Time
	left         Time   // the queue
	order        uint64 // among frames that are due at once
	flipBit      int32
}

// line is a heap of frames by due time.
type line[T any] struct {
	heap  []onLine[T]
	order uint64
	bytes int
}

func before[T any](a, b *onLine[T]) bool {
	return a.due < b.due || a.due == b.due && a.order < b.order
}

func (l *line[T]) push(f onLine[T]) {
	f.order = l.order
	l.order++
	l.bytes += f.bytes
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
}

func (l *line[T]) pop() onLine[T] {
	h := l.heap
	first := h[0]
	last := h[len(h)-1]
	h[len(h)-1] = onLine[T]{}
	h = h[:len(h)-1]
	l.heap = h
	l.bytes -= first.bytes
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
	return first
}
