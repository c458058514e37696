package telemetry

import (
	"errors"
	"os"
	"sync"
)

// Spool is a file of line protocol to which whole lines are appended.
type Spool struct {
	mu     sync.Mutex
	file   *os.File
	points int
}

// OpenSpool opens a spool, making the file if there is none.
func OpenSpool(path string) (*Spool, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	return &Spool{file: file}, nil
}

// Append adds the points' lines in one write.
func (s *Spool) Append(p *Points) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines, count, err := p.Take()
	if err != nil || count == 0 {
		return err
	}
	if _, err := s.file.Write(lines); err != nil {
		return err
	}
	s.points += count
	return nil
}

// Points gives how many points were appended.
func (s *Spool) Points() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.points
}

// Close closes the file. What was appended stays for the pusher.
func (s *Spool) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.file.Sync(), s.file.Close())
}
