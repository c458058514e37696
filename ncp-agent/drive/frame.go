package drive

import (
	"encoding/binary"
	"fmt"
	"io"
)

// frameHeader is a packet's length before it on a stream: 4 bytes, little
// endian, as nkn-tuna-session frames packets over TCP (its message.go). It
// takes packets of at most the session's MTU and 1024 bytes more, and so does
// this.
const frameHeader = 4

func appendFrame(b, packet []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(packet)))
	return append(b, packet...)
}

// frames cuts a stream into the packets that appendFrame joined.
type frames struct {
	limit      int // the largest packet
	buf        []byte
	start, end int // of what was read and not cut off yet
}

// newFrames makes room for many packets, so that a read takes several.
func newFrames(limit int) *frames {
	return &frames{limit: limit, buf: make([]byte, max(64<<10, 4*(frameHeader+limit)))}
}

// next cuts off a packet, if there is a whole one. It is good until the next
// call of fill. A length above the limit is an error, and stays one.
func (f *frames) next() (packet []byte, ok bool, err error) {
	have := f.buf[f.start:f.end]
	if len(have) < frameHeader {
		return nil, false, nil
	}
	n := binary.LittleEndian.Uint32(have)
	if uint64(n) > uint64(f.limit) {
		return nil, false, fmt.Errorf("a frame of %d bytes, want at most %d", n, f.limit)
	}
	whole := frameHeader + int(n)
	if len(have) < whole {
		return nil, false, nil
	}
	f.start += whole
	return have[frameHeader:whole], true, nil
}

// fill reads once from the stream, when next has no whole packet left. At the
// stream's end it gives io.EOF, or io.ErrUnexpectedEOF within a packet.
func (f *frames) fill(from io.Reader) error {
	f.end = copy(f.buf, f.buf[f.start:f.end])
	f.start = 0
	n, err := from.Read(f.buf[f.end:])
	f.end += n
	if n > 0 {
		return nil
	}
	if err == io.EOF && f.end > 0 {
		return io.ErrUnexpectedEOF
	}
	return err
}
