package agent

import (
	"bufio"
	"errors"
	"fmt"
	"os"

	"ncp-testbed/ndn-agent/fetch"
)

// segmentLog is segments.csv: one line per segment, in order of arrival. The
// zero value's pointer, nil, logs nothing.
type segmentLog struct {
	file *os.File
	out  *bufio.Writer
}

func openSegmentLog(path string) (*segmentLog, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	l := &segmentLog{file, bufio.NewWriterSize(file, 64<<10)}
	_, err = l.out.WriteString("t_ms,segment,rtt_ms,cwnd,marked,retransmitted\n")
	return l, err
}

// add writes a line; a failure shows when the log is closed.
func (l *segmentLog) add(a fetch.Arrival) {
	if l == nil {
		return
	}
	rtt := ""
	if a.RTT > 0 {
		rtt = fmt.Sprintf("%.3f", inMilliseconds(a.RTT))
	}
	fmt.Fprintf(l.out, "%.3f,%d,%s,%.2f,%d,%d\n", inMilliseconds(a.At), a.Segment, rtt, a.Cwnd, bit(a.Marked), bit(a.Retransmitted))
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (l *segmentLog) close() error {
	if l == nil {
		return nil
	}
	return errors.Join(l.out.Flush(), l.file.Close())
}
