// Package payload makes the stream of bytes that a sender sends.
package payload

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
)

// Stream is pseudo-random, and the same for the same seed and session.
type Stream struct {
	random *rand.ChaCha8
	left   int64
	sum    hash.Hash
	buf    []byte
}

const chunk = 64 << 10

// New makes a session's stream of so many bytes.
func New(seed uint64, session string, bytes int64) *Stream {
	key := sha256.Sum256(fmt.Appendf(nil, "%d/%s", seed, session))
	return &Stream{rand.NewChaCha8(key), bytes, sha256.New(), make([]byte, chunk)}
}

// Next gives the next part of the stream, nothing at its end. It is good until
// the next call.
func (s *Stream) Next() []byte {
	part := s.buf[:min(int64(len(s.buf)), s.left)]
	s.random.Read(part)
	s.sum.Write(part)
	s.left -= int64(len(part))
	return part
}

// SHA256 gives the digest, in hexadecimal, of what Next has given so far.
func (s *Stream) SHA256() string { return hex.EncodeToString(s.sum.Sum(nil)) }

// Reader reads what is left of the stream.
func (s *Stream) Reader() io.Reader { return &reader{stream: s} }

type reader struct {
	stream *Stream
	part   []byte // of the stream, not read yet
}

func (r *reader) Read(b []byte) (int, error) {
	if len(r.part) == 0 {
		if r.part = r.stream.Next(); len(r.part) == 0 {
			return 0, io.EOF
		}
	}
	n := copy(b, r.part)
	r.part = r.part[n:]
	return n, nil
}
