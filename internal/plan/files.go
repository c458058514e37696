package plan

import (
	"fmt"
	"io"
	"os"
)

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
