package agent

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"math/rand/v2"
)

// payload is the stream that a sender sends: pseudo-random, and the same for
// the same seed and session.
type payload struct {
	random *rand.ChaCha8
	left   int64
	sum    hash.Hash
	buf    []byte
}

const payloadChunk = 64 << 10

func newPayload(seed uint64, session string, bytes int64) *payload {
	key := sha256.Sum256(fmt.Appendf(nil, "%d/%s", seed, session))
	return &payload{rand.NewChaCha8(key), bytes, sha256.New(), make([]byte, payloadChunk)}
}

// next gives the next part of the stream, nothing at its end. It is good until
// the next call.
func (p *payload) next() []byte {
	part := p.buf[:min(int64(len(p.buf)), p.left)]
	p.random.Read(part)
	p.sum.Write(part)
	p.left -= int64(len(part))
	return part
}
