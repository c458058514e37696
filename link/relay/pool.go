package relay

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// poolFrames is how many frames all links together can hold: 0.8 s of full-size frames at 2 Gbit/s. Memory is
// taken by the kernel's page only as frames come to need it.
const poolFrames = 1 << 17

// pool is frame memory outside of Go's heap, so that the garbage collector has nothing to look at.
type pool struct {
	memory []byte
	stride int
	free   []int32 // the last freed first: memory that is in the cache
	length []uint16
}

// newPool makes room for frames of up to the given size.
func newPool(frameBytes int) (*pool, error) {
	stride := (frameBytes + 63) &^ 63
	memory, err := unix.Mmap(-1, 0, poolFrames*stride, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("memory for %d frames: %w", poolFrames, err)
	}
	p := &pool{
		memory: memory, stride: stride,
		free:   make([]int32, poolFrames),
		length: make([]uint16, poolFrames),
	}
	for i := range p.free {
		p.free[i] = int32(poolFrames - 1 - i)
	}
	return p, nil
}

func (p *pool) close() { _ = unix.Munmap(p.memory) }

// take returns a buffer, or -1 if all are in use.
func (p *pool) take() int32 {
	if len(p.free) == 0 {
		return -1
	}
	buffer := p.free[len(p.free)-1]
	p.free = p.free[:len(p.free)-1]
	return buffer
}

func (p *pool) give(buffer int32) { p.free = append(p.free, buffer) }

// frame is the frame in a buffer.
func (p *pool) frame(buffer int32) []byte {
	return p.memory[int(buffer)*p.stride:][:p.length[buffer]]
}

// store copies a frame into a buffer.
func (p *pool) store(buffer int32, bytes []byte) {
	p.length[buffer] = uint16(len(bytes))
	copy(p.frame(buffer), bytes)
}

// clone copies a frame into a buffer of its own; false if there is none.
func (p *pool) clone(buffer int32) (int32, bool) {
	second := p.take()
	if second < 0 {
		return -1, false
	}
	p.store(second, p.frame(buffer))
	return second, true
}
