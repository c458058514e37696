// Package marking decides from a socket's send queue which packets carry a
// congestion mark. It has no clock and no socket.
package marking

import (
	"fmt"
	"math"
	"time"
)

// The modes.
const (
	Off       = "off"
	Hackathon = "hackathon"
	NFD       = "nfd"
)

// Config is how a face marks.
type Config struct {
	Mode           string
	ThresholdBytes int
	// QueuePackets is, in mode hackathon, how many packets of a stream may wait
	// in the process without a mark.
	QueuePackets int
	// Interval is, in mode nfd, how long the queue stays above the threshold
	// before the first mark.
	Interval time.Duration
}

// Default returns a mode's published parameters.
func Default(mode string) (Config, error) {
	switch mode {
	case Off:
		return Config{Mode: Off}, nil
	case Hackathon:
		return Config{Mode: Hackathon, ThresholdBytes: 50_000, QueuePackets: 10}, nil
	case NFD:
		return Config{Mode: NFD, ThresholdBytes: 65_536, Interval: 100 * time.Millisecond}, nil
	default:
		return Config{}, fmt.Errorf("%q, want %s, %s or %s", mode, Off, Hackathon, NFD)
	}
}

// Queue is what waits to be sent on a face.
type Queue struct {
	KernelBytes int // SIOCOUTQ
	UnsentBytes int // SIOCOUTQNSD, of TCP
	OwnBytes    int // in the process, of TCP
	OwnPackets  int
}

// Bytes is all that waits, in the kernel and in the process.
func (q Queue) Bytes() int { return q.KernelBytes + q.OwnBytes }

// Marker decides for one face.
type Marker struct {
	Config
	Marks uint64 // decided so far

	congested bool
	next      time.Duration // when the next mark is due, while congested
	incident  int           // marks since the queue went above the threshold
}

// Mark reports whether a packet that is about to be sent, with the queue as it
// is before it, is marked.
func (m *Marker) Mark(now time.Duration, q Queue) bool {
	mark := false
	switch m.Mode {
	case Hackathon:
		mark = q.KernelBytes > m.ThresholdBytes || q.OwnPackets > m.QueuePackets
	case NFD:
		mark = m.markSpaced(now, q.Bytes())
	}
	if mark {
		m.Marks++
	}
	return mark
}

// markSpaced marks once the queue was above the threshold for an interval, and
// then ever more often, as CoDel drops: the time from the nth mark to the next
// is the interval divided by √(n+1). A queue seen at or below the threshold
// ends the incident.
func (m *Marker) markSpaced(now time.Duration, bytes int) bool {
	if bytes <= m.ThresholdBytes {
		m.congested, m.incident = false, 0
		return false
	}
	if !m.congested {
		m.congested, m.next = true, now+m.Interval
		return false
	}
	if now < m.next {
		return false
	}
	m.incident++
	m.next += time.Duration(float64(m.Interval) / math.Sqrt(float64(m.incident+1)))
	return true
}
