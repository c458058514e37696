package plan

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"ncp-testbed/internal/linkmodel"
)

// Files are the keys of a link or a change that name files: of delivery opportunities, in mahimahi's format, and of
// jitter in milliseconds, one per line.
type Files struct {
	TraceFile  string `json:"trace_file"`
	JitterFile string `json:"jitter_file"`
}

// read sets the properties that are in the files, whose names are relative to the directory. The error begins with the
// key that names the file.
func (f *Files) read(directory string, p *linkmodel.Properties) (err error) {
	err = readFile("trace_file", f.TraceFile, directory, func(text []byte) (err error) {
		p.Trace, err = linkmodel.ParseTrace(text)
		return err
	})
	if err != nil {
		return err
	}
	return readFile("jitter_file", f.JitterFile, directory, func(text []byte) (err error) {
		p.JitterKind = linkmodel.JitterSamples
		p.JitterSamplesMS, err = linkmodel.ParseSamples(text)
		return err
	})
}

// readFile has a file parsed, unless it has no name.
func readFile(key, name, directory string, parse func([]byte) error) error {
	if name == "" {
		return nil
	}
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(directory, name)
	}
	text, err := readNumbers(path)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	if err := parse(text); err != nil {
		return fmt.Errorf("%s: %s: %w", key, name, err)
	}
	return nil
}

// largestFileBytes bounds a file of delivery opportunities or of jitter, as topologies/link_files.py does.
const largestFileBytes = 8 << 20

// readNumbers reads a file that a link names. Reading a device, a FIFO or what a kernel shows as a file may wait for
// ever, so it opens none.
func readNumbers(path string) ([]byte, error) {
	found, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !found.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: it is no ordinary file; want a file of numbers, one per line", path)
	}
	if size := found.Size(); size < 1 || size > largestFileBytes {
		return nil, fmt.Errorf("%s: %d bytes; want numbers, one per line, 1 to %d bytes", path, size, int64(largestFileBytes))
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, largestFileBytes))
}
