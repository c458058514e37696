package measure

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// counters are those of a namespace's interfaces, whoever reads them.
type counters struct{ file *os.File }

type counted struct{ received, transmitted uint64 } // packets

func openCounters() (*counters, error) {
	file, err := os.Open("/proc/thread-self/net/dev")
	if err != nil {
		return nil, fmt.Errorf("counters of interfaces: %w", err)
	}
	return &counters{file}, nil
}

func (c *counters) read() (map[string]counted, error) {
	if _, err := c.file.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("counters of interfaces: %w", err)
	}
	return parseCounters(c.file)
}

func readBoth(both [2]*counters) (found [2]map[string]counted, err error) {
	for i, c := range both {
		if found[i], err = c.read(); err != nil {
			return found, err
		}
	}
	return found, nil
}

// Columns of /proc/net/dev after an interface's name (proc_net_dev(5)).
const (
	receivedColumn    = 1
	transmittedColumn = 9
)

func parseCounters(text io.Reader) (map[string]counted, error) {
	found := map[string]counted{}
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		name, rest, ok := strings.Cut(lines.Text(), ":")
		if !ok {
			continue // the heading
		}
		columns := strings.Fields(rest)
		if len(columns) <= transmittedColumn {
			return nil, fmt.Errorf("/proc/net/dev: %q has too few columns", lines.Text())
		}
		var c counted
		for column, into := range map[int]*uint64{receivedColumn: &c.received, transmittedColumn: &c.transmitted} {
			value, err := strconv.ParseUint(columns[column], 10, 64)
			if err != nil {
				return nil, fmt.Errorf("/proc/net/dev: %w", err)
			}
			*into = value
		}
		found[strings.TrimSpace(name)] = c
	}
	return found, lines.Err()
}
