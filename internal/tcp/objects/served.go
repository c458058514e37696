package objects

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"sync"
)

// Sent is the server's word on all objects of one size that it sent whole.
type Sent struct {
	ObjectBytes int64  `json:"object_bytes"`
	Times       int    `json:"times"`
	SHA256      string `json:"sha256"`
}

// Served counts the objects that were sent whole, by their size.
type Served struct {
	mu    sync.Mutex
	times map[int64]int
}

func (s *Served) add(size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.times == nil {
		s.times = map[int64]int{}
	}
	s.times[size]++
}

// WriteLines writes a line of JSON about each size, the smallest first. Objects are hashed here, and not while they are
// sent, so that it takes nothing of the time that they need.
func (s *Served) WriteLines(out io.Writer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := json.NewEncoder(out)
	for _, size := range slices.Sorted(maps.Keys(s.times)) {
		hashed := sha256.New()
		if _, err := io.Copy(hashed, body(size)); err != nil {
			return err
		}
		sent := Sent{ObjectBytes: size, Times: s.times[size], SHA256: hex.EncodeToString(hashed.Sum(nil))}
		if err := lines.Encode(sent); err != nil {
			return err
		}
	}
	return nil
}
