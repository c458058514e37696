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
	header int     // bytes before each frame that go to the kernel with it
	free   []int32 // the last freed first: memory that is in the cache
	length []uint32
}

// newPool makes room for so many frames of up to the given size, each with a header before it.
func newPool(frames, header, frameBytes int) (*pool, error) {
	stride := (header + frameBytes + 63) &^ 63
	memory, err := unix.Mmap(-1, 0, frames*stride, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("memory for %d frames: %w", frames, err)
	}
	p := &pool{
		memory: memory, stride: stride, header: header,
		free:   make([]int32, frames),
		length: make([]uint32, frames),
	}
	for i := range p.free {
		p.free[i] = int32(frames - 1 - i)
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
	return p.memory[int(buffer)*p.stride+p.header:][:p.length[buffer]]
}

// packet is the frame in a buffer with its header.
func (p *pool) packet(buffer int32) []byte {
	return p.memory[int(buffer)*p.stride:][:p.header+int(p.length[buffer])]
}

// room is all of a buffer.
func (p *pool) room(buffer int32) []byte { return p.memory[int(buffer)*p.stride:][:p.stride] }

// store copies a frame into a buffer.
func (p *pool) store(buffer int32, bytes []byte) {
	p.length[buffer] = uint32(len(bytes))
	copy(p.frame(buffer), bytes)
}

// clone copies a frame, with its header, into a buffer of its own; false if there is none.
func (p *pool) clone(buffer int32) (int32, bool) {
	second := p.take()
	if second < 0 {
		return -1, false
	}
	p.length[second] = p.length[buffer]
	copy(p.packet(second), p.packet(buffer))
	return second, true
}
