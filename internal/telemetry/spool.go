package telemetry

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"sync"
)

// maxPendingBytes bounds what a spool keeps in memory while its disk is full.
const maxPendingBytes = 4 << 20

// Spool is a file of line protocol to which whole lines are appended, by one
// Spool at a time.
type Spool struct {
	mu      sync.Mutex
	file    *os.File
	size    int64 // of the whole lines in the file
	torn    bool  // the file may have a part of a line after them
	points  int
	lost    int
	pending []byte // lines that the file has not taken yet
	waiting int    // points in pending
}

// OpenSpool opens a spool, making the file if there is none. A part of a line
// that an earlier process left at its end is cut off.
func OpenSpool(path string) (*Spool, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	s := &Spool{file: file, torn: true}
	if s.size, err = wholeSize(file); err == nil {
		err = s.mend()
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return s, nil
}

// wholeSize finds where a file's last whole line ends.
func wholeSize(file *os.File) (int64, error) {
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	buf := make([]byte, 64<<10)
	for end := info.Size(); end > 0; {
		part := buf[:min(end, int64(len(buf)))]
		if _, err := file.ReadAt(part, end-int64(len(part))); err != nil {
			return 0, err
		}
		end -= int64(len(part))
		if n := bytes.LastIndexByte(part, '\n'); n >= 0 {
			return end + int64(n) + 1, nil
		}
	}
	return 0, nil
}

// mend cuts off what may be after the whole lines.
func (s *Spool) mend() error {
	if !s.torn {
		return nil
	}
	if err := s.file.Truncate(s.size); err != nil {
		return err
	}
	s.torn = false
	return nil
}

// Append adds the points' lines. What the file does not take, say because the
// disk is full, goes with a later Append or with Close. An error tells of that
// and of points that could not be encoded; Lost counts what is lost for good.
func (s *Spool) Append(p *Points) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines, count, skipped := p.Take()
	if e, ok := errors.AsType[*SkippedError](skipped); ok {
		s.lost += e.Points
	}
	if count == 0 {
		return skipped
	}
	if len(s.pending) == 0 {
		return errors.Join(skipped, s.write(lines, count))
	}
	var overflow error
	if len(s.pending)+len(lines) <= maxPendingBytes {
		s.pending = append(s.pending, lines...)
		s.waiting += count
	} else {
		s.lost += count
		overflow = fmt.Errorf("telemetry: %d points are lost: %d bytes wait for the disk already", count, len(s.pending))
	}
	return errors.Join(skipped, overflow, s.write(s.pending, s.waiting))
}

// write appends lines, or as many whole ones as the file takes, and keeps the
// others. A reader of the file may have seen the whole ones, so those stay.
func (s *Spool) write(lines []byte, count int) error {
	err := s.mend()
	n := 0
	if err == nil {
		n, err = s.file.Write(lines)
	}
	whole, taken := WholeLines(lines[:n], count)
	s.size += int64(whole)
	s.points += taken
	s.torn = s.torn || n > whole
	s.pending = append(s.pending[:0], lines[whole:]...)
	s.waiting = count - taken
	if err == nil {
		return nil
	}
	return errors.Join(fmt.Errorf("telemetry: %d points wait to be spooled: %w", s.waiting, err), s.mend())
}

// Points returns how many points are in the file.
func (s *Spool) Points() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.points
}

// Lost returns how many points never got into the file: those that line protocol
// can't carry, those that a full disk kept out.
func (s *Spool) Lost() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost
}

// Close closes the file, after a last try to write what waits. What was
// appended stays for the pusher.
func (s *Spool) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	if s.waiting > 0 {
		err = s.write(s.pending, s.waiting)
		s.lost += s.waiting
	}
	return errors.Join(err, s.file.Sync(), s.file.Close())
}
