package session

// Buffers keeps storage for packets' data, to be used again. Sessions that are
// driven by one goroutine may share it (Config.Buffers): together they then
// hold what they need at one time, and not each of them the most it ever needed.
type Buffers struct {
	size int // bytes of each
	free [][]byte
	zero []byte // unless nil: the storage of all, as all data is zeros
}

// NewBuffers makes storage for packets of at most so many bytes of data.
func NewBuffers(mtuBytes uint32) *Buffers { return &Buffers{size: int(mtuBytes)} }

// NewZeroBuffers is for sessions whose data is all zeros: each packet of theirs
// has the same storage.
func NewZeroBuffers(mtuBytes uint32) *Buffers {
	return &Buffers{size: int(mtuBytes), zero: make([]byte, 0, mtuBytes)}
}

// Free is how many wait to be used again.
func (b *Buffers) Free() int { return len(b.free) }

// get returns an empty buffer with room for n ≤ size bytes. Small ones are not
// worth a whole buffer: many small packets would then hold far more memory
// than the window allows.
func (b *Buffers) get(n int) []byte {
	if b.zero != nil {
		return b.zero
	}
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

// fill adds data to a buffer that get gave. Where all data is zeros the buffer
// has it already.
func (b *Buffers) fill(buf, data []byte) []byte {
	if b.zero != nil {
		return buf[:len(buf)+len(data)]
	}
	return append(buf, data...)
}

// put takes a buffer back.
func (b *Buffers) put(buf []byte) {
	if cap(buf) == b.size && b.size > 0 && b.zero == nil {
		b.free = append(b.free, buf)
	}
}
