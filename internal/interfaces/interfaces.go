// Package interfaces reads the kernel's counters of network interfaces.
package interfaces

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// Counters are those of one interface since it was made, in packets.
type Counters struct {
	Received        uint64
	Transmitted     uint64
	TransmitDropped uint64
}

// File are the interfaces of the network namespace in which it was opened, whoever reads them.
type File struct{ file *os.File }

// Open opens those of the calling thread's namespace.
func Open() (*File, error) {
	file, err := os.Open("/proc/thread-self/net/dev")
	if err != nil {
		return nil, fmt.Errorf("counters of interfaces: %w", err)
	}
	return &File{file}, nil
}

// Close closes it.
func (f *File) Close() error { return f.file.Close() }

// Read gives the counters of now by the interfaces' names.
func (f *File) Read() (map[string]Counters, error) {
	if _, err := f.file.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("counters of interfaces: %w", err)
	}
	return parse(f.file)
}

// Columns of /proc/net/dev after an interface's name (proc_net_dev(5)).
const (
	receivedColumn        = 1
	transmittedColumn     = 9
	transmitDroppedColumn = 11
	columnCount           = 16
)

func parse(text io.Reader) (map[string]Counters, error) {
	found := map[string]Counters{}
	lines := bufio.NewScanner(text)
	for number := 1; lines.Scan(); number++ {
		name, rest, ok := strings.Cut(lines.Text(), ":")
		if !ok {
			continue // the heading
		}
		columns := strings.Fields(rest)
		if len(columns) != columnCount {
			return nil, fmt.Errorf("/proc/net/dev: line %d has %d columns, want %d", number, len(columns), columnCount)
		}
		var c Counters
		for column, into := range map[int]*uint64{
			receivedColumn:        &c.Received,
			transmittedColumn:     &c.Transmitted,
			transmitDroppedColumn: &c.TransmitDropped,
		} {
			value, err := strconv.ParseUint(columns[column], 10, 64)
			if err != nil {
				return nil, fmt.Errorf("/proc/net/dev: line %d: %w", number, err)
			}
			*into = value
		}
		found[strings.TrimSpace(name)] = c
	}
	return found, lines.Err()
}
