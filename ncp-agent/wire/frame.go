package wire

import (
	"encoding/binary"
	"fmt"
	"io"
)

// FrameHeaderBytes is the length before each packet on a stream: 4 bytes, little
// endian, as nkn-tuna-session frames packets over TCP (its message.go).
const FrameHeaderBytes = 4

// FrameSlack is how many bytes beyond a session's MTU a packet on a stream may have,
// as there.
const FrameSlack = 1024

// AppendFrame appends a packet as it goes over the stream.
func AppendFrame(b, packet []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(packet)))
	return append(b, packet...)
}

// FrameReader cuts a stream into the packets that AppendFrame joined.
type FrameReader struct {
	limit      int // the largest packet
	buf        []byte
	start, end int // of what was read and not cut off yet
}

// NewFrameReader makes room for many packets of at most limit bytes, so that a read
// takes several.
func NewFrameReader(limit int) *FrameReader {
	return &FrameReader{limit: limit, buf: make([]byte, max(64<<10, 4*(FrameHeaderBytes+limit)))}
}

// Next cuts off a packet, if there is a whole one. It is good until the next
// call of Fill. A length above the limit is an error, and stays one.
func (r *FrameReader) Next() (packet []byte, ok bool, err error) {
	have := r.buf[r.start:r.end]
	if len(have) < FrameHeaderBytes {
		return nil, false, nil
	}
	n := binary.LittleEndian.Uint32(have)
	if uint64(n) > uint64(r.limit) {
		return nil, false, fmt.Errorf("a frame of %d bytes, want at most %d", n, r.limit)
	}
	whole := FrameHeaderBytes + int(n)
	if len(have) < whole {
		return nil, false, nil
	}
	r.start += whole
	return have[FrameHeaderBytes:whole], true, nil
}

// Fill reads once from the stream, when Next has no whole packet left. At the
// stream's end it returns io.EOF, or io.ErrUnexpectedEOF within a packet.
func (r *FrameReader) Fill(from io.Reader) error {
	r.end = copy(r.buf, r.buf[r.start:r.end])
	r.start = 0
	n, err := from.Read(r.buf[r.end:])
	r.end += n
	if n > 0 {
		return nil
	}
	if err == io.EOF && r.end > 0 {
		return io.ErrUnexpectedEOF
	}
	return err
}
