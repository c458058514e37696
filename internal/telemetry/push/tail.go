package push

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"ncp-testbed/internal/telemetry"
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
	lines      []byte // good until the next call of next
	points     int
	unfinished int // bytes after them, up to the file's end, without a newline
}

// next returns the lines from the offset on, as many as a batch may have; none
// if there is no whole line yet, or no file yet. A file that ends without a
// newline keeps its last line back: its writer may not be done.
func (t *tail) next() (batch, error) {
	file, err := os.Open(t.path)
	if errors.Is(err, fs.ErrNotExist) && t.offset == 0 {
		return batch{}, nil
	}
	if err != nil {
		return batch{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return batch{}, err
	}
	if info.Size() < t.offset {
		return batch{}, fmt.Errorf("%s: has %d bytes, %d were read already: it was cut or replaced", t.path, info.Size(), t.offset)
	}
	if t.buf == nil {
		t.buf = make([]byte, maxBatchBytes)
	}
	n, err := file.ReadAt(t.buf, t.offset)
	if err != nil && err != io.EOF {
		return batch{}, err
	}
	end, points := telemetry.WholeLines(t.buf[:n], maxBatchPoints)
	if end == 0 && n == len(t.buf) {
		return batch{}, fmt.Errorf("%s: no newline in %d bytes from byte %d on: no line protocol, not read any further", t.path, n, t.offset)
	}
	b := batch{lines: t.buf[:end], points: points}
	if bytes.IndexByte(t.buf[end:n], '\n') < 0 {
		b.unfinished = n - end
	}
	return b, nil
}

// rest counts the points after the offset, which were never delivered. It is
// an error if the file can't be read or its last line has no newline.
func (t *tail) rest() (int, error) {
	counted := 0
	for at := *t; ; {
		b, err := at.next()
		if err != nil {
			return counted, err
		}
		counted += b.points
		at.offset += int64(len(b.lines))
		if len(b.lines) > 0 {
			continue
		}
		if b.unfinished > 0 {
			return counted, fmt.Errorf("%s: the last %d bytes have no newline: their writer was cut off, they are no point", t.path, b.unfinished)
		}
		return counted, nil
	}
}
