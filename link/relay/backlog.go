package relay

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// backlog tells of frames that got lost between the relay and a host, although the interface took them: the
// receiving side of a veth pair has room for net.core.netdev_max_backlog frames on each processor.
type backlog struct {
	file   *os.File // of the namespace in which it was opened, whoever reads it
	before map[string]uint64
}

func openBacklog() (*backlog, error) {
	file, err := os.Open("/proc/thread-self/net/dev")
	if err != nil {
		return nil, fmt.Errorf("counters of interfaces: %w", err)
	}
	b := &backlog{file: file}
	b.before, err = b.read()
	return b, err
}

func (b *backlog) close() { _ = b.file.Close() }

// drops are the frames that each interface has dropped since the start, those included that it refused while it
// was down.
func (b *backlog) drops() (map[string]uint64, error) {
	now, err := b.read()
	if err != nil {
		return nil, err
	}
	for name := range now {
		now[name] -= b.before[name]
	}
	return now, nil
}

func (b *backlog) read() (map[string]uint64, error) {
	if _, err := b.file.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("counters of interfaces: %w", err)
	}
	return parseTransmitDrops(b.file)
}

// Columns of /proc/net/dev after an interface's name (proc_net_dev(5)).
const (
	transmitDropColumn = 11
	deviceColumns      = 16
)

func parseTransmitDrops(text io.Reader) (map[string]uint64, error) {
	drops := map[string]uint64{}
	lines := bufio.NewScanner(text)
	for number := 1; lines.Scan(); number++ {
		name, counters, ok := strings.Cut(lines.Text(), ":")
		if !ok {
			continue // the heading
		}
		columns := strings.Fields(counters)
		if len(columns) != deviceColumns {
			return nil, fmt.Errorf("/proc/net/dev: line %d has %d columns, want %d", number, len(columns), deviceColumns)
		}
		count, err := strconv.ParseUint(columns[transmitDropColumn], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("/proc/net/dev: line %d: %w", number, err)
		}
		drops[strings.TrimSpace(name)] = count
	}
	return drops, lines.Err()
}
