package linkmodel

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

// newStream has every purpose draw for itself, so that what one draws never moves another: with jitter turned
// on, the same frames are lost as without. They follow from the seed, the link's name and the direction alone:
// another link in the same run changes none of them.
func newStream(seed uint64, link string, direction Direction) stream {
	return func(purpose string) *rand.Rand {
		sum := sha256.Sum256(fmt.Appendf(nil, "%d\x00%s\x00%s\x00%s", seed, link, direction, purpose))
		return rand.New(rand.NewPCG(binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:16])))
	}
}

// chance draws only where there is something to decide.
func chance(r *rand.Rand, share float64) bool {
	return share > 0 && r.Float64() < share
}
