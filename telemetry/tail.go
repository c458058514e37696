package telemetry

import (
	"bytes"
	"errors"
	"io"
	"os"
)

// tail reads a growing file in batches of whole lines, by offset.
type tail struct {
	path   string
	offset int64
	buf    []byte
}

// maxBatchBytes is far above a batch of maxBatchPoints lines of this project.
const (
	maxBatchPoints = 5000
	maxBatchBytes  = 2 << 20
)

// batch is some whole lines of a file.
type batch struct {
	lines  []byte // good until the next call of next
	points int
	end    int64 // the offset after it
}

// next gives the lines from the offset on, as many as a batch may have; none
// if there is no whole line yet, or no file. A file that ends without a
// newline keeps its last line back: its writer may not be done.
func (t *tail) next() (batch, error) {
	file, err := os.Open(t.path)
	if errors.Is(err, os.ErrNotExist) {
		return batch{end: t.offset}, nil
	}
	if err != nil {
		return batch{}, err
	}
	defer file.Close()
	if t.buf == nil {
		t.buf = make([]byte, maxBatchBytes)
	}
	n, err := file.ReadAt(t.buf, t.offset)
	if err != nil && err != io.EOF {
		return batch{}, err
	}
	end, points := wholeLines(t.buf[:n], maxBatchPoints)
	return batch{lines: t.buf[:end], points: points, end: t.offset + int64(end)}, nil
}

// wholeLines gives where the whole lines of buf end, and how many of them are
// points, at most limit.
func wholeLines(buf []byte, limit int) (end, points int) {
	for points < limit {
		n := bytes.IndexByte(buf[end:], '\n')
		if n < 0 {
			return end, points
		}
		if isPoint(buf[end : end+n]) {
			points++
		}
		end += n + 1
	}
	return end, points
}

// isPoint tells a point from an empty line or a comment.
func isPoint(line []byte) bool {
	line = bytes.TrimLeft(line, " \t\r")
	return len(line) > 0 && line[0] != '#'
}

// rest counts the points after the offset that were never read.
func (t *tail) rest() (int, error) {
	counted := 0
	for at := *t; ; {
		b, err := at.next()
		if err != nil || b.end == at.offset {
			return counted, err
		}
		counted += b.points
		at.offset = b.end
	}
}
