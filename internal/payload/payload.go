// Package payload makes the stream of bytes that a sender sends.
package payload

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
)

// Stream is pseudo-random, and the same for the same seed and session.
type Stream struct {
	random cipher.Stream // AES-128 in counter mode: what processors draw fastest
	left   int64
	sum    hash.Hash
	buf    []byte
}

// chunk is what is drawn at a time: a part of a processor's first cache, so
// that it is hashed from there.
const chunk = 16 << 10

// New makes a session's stream of so many bytes.
func New(seed uint64, session string, bytes int64) *Stream {
	key := sha256.Sum256(fmt.Appendf(nil, "%d/%s", seed, session))
	block, err := aes.NewCipher(key[:aes.BlockSize])
	if err != nil {
		panic(err) // of the key's length only
	}
	return &Stream{cipher.NewCTR(block, key[aes.BlockSize:]), bytes, sha256.New(), make([]byte, chunk)}
}

// Next returns the next part of the stream, nothing at its end. It is good until
// the next call.
func (s *Stream) Next() []byte {
	part := s.buf[:min(int64(len(s.buf)), s.left)]
	clear(part)
	s.random.XORKeyStream(part, part)
	s.sum.Write(part)
	s.left -= int64(len(part))
	return part
}

// SHA256 returns the digest, in hexadecimal, of what Next has given so far.
func (s *Stream) SHA256() string { return hex.EncodeToString(s.sum.Sum(nil)) }

// Received digests a stream as it comes: its SHA-256, and a checksum that no
// sender makes, so that who hands on the sender's digest is found out.
type Received struct {
	hash.Hash
	crc32 uint32
}

// NewReceived begins with nothing.
func NewReceived() *Received { return &Received{Hash: sha256.New()} }

func (r *Received) Write(part []byte) (int, error) {
	r.crc32 = crc32.Update(r.crc32, crc32.IEEETable, part)
	return r.Hash.Write(part)
}

// CRC32 returns the checksum (IEEE 802.3) of what was written so far.
func (r *Received) CRC32() *uint32 { return &r.crc32 }

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
