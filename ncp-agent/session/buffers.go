package session

// buffers keeps packet buffers of one size for reuse.
type buffers struct {
	size int
	free [][]byte
}

// get gives an empty buffer with room for n ≤ size bytes. Small ones are not
// worth a whole buffer: many small packets would then hold far more memory
// than the window allows.
func (b *buffers) get(n int) []byte {
	if n < b.size/4 {
		return make([]byte, 0, n)
	}
	if last := len(b.free) - 1; last >= 0 {
		buf := b.free[last]
		b.free = b.free[:last]
		return buf[:0]
	}
	return make([]byte, 0, b.size)
}

// put takes a buffer back.
func (b *buffers) put(buf []byte) {
	if cap(buf) == b.size && b.size > 0 {
		b.free = append(b.free, buf)
	}
}
