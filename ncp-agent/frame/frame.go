// Package frame carries packets over a stream: each after its length, 4 bytes,
// little endian, as nkn-tuna-session frames packets over TCP (its message.go).
// That takes packets of at most the session's MTU and Slack bytes more.
package frame

import (
	"encoding/binary"
	"fmt"
	"io"
)

// HeaderBytes is the length before each packet.
const HeaderBytes = 4

// Slack is how many bytes beyond a session's MTU a packet on a stream may have.
const Slack = 1024

// Append appends a packet as it goes over the stream.
func Append(b, packet []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(packet)))
	return append(b, packet...)
}

// Reader cuts a stream into the packets that Append joined.
type Reader struct {
	limit      int // the largest packet
	buf        []byte
	start, end int // of what was read and not cut off yet
}

// NewReader makes room for many packets of at most limit bytes, so that a read
// takes several.
func NewReader(limit int) *Reader {
	return &Reader{limit: limit, buf: make([]byte, max(64<<10, 4*(HeaderBytes+limit)))}
}

// Next cuts off a packet, if there is a whole one. It is good until the next
// call of Fill. A length above the limit is an error, and stays one.
func (r *Reader) Next() (packet []byte, ok bool, err error) {
	have := r.buf[r.start:r.end]
	if len(have) < HeaderBytes {
		return nil, false, nil
	}
	n := binary.LittleEndian.Uint32(have)
	if uint64(n) > uint64(r.limit) {
		return nil, false, fmt.Errorf("a frame of %d bytes, want at most %d", n, r.limit)
	}
	whole := HeaderBytes + int(n)
	if len(have) < whole {
		return nil, false, nil
	}
	r.start += whole
	return have[HeaderBytes:whole], true, nil
}

// Fill reads once from the stream, when Next has no whole packet left. At the
// stream's end it gives io.EOF, or io.ErrUnexpectedEOF within a packet.
func (r *Reader) Fill(from io.Reader) error {
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
