package linkmodel

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// TraceOpportunityBytes is what one line of a trace lets through: the MTU-sized packet of mahimahi, with the
// TUN header that mahimahi counts (Netravali et al., USENIX ATC 2015).
const TraceOpportunityBytes = 1504

// maxTraceMS keeps times of a trace, repeated, far from overflow: ten days.
const maxTraceMS = 10 * 24 * 3600 * 1000

// Trace is a rate given as a list of opportunities, in mahimahi's format. It repeats for ever, with the last
// opportunity's time as its period. An opportunity that finds no frame is lost; what a small frame leaves of
// one goes to the next that waits, and a frame that is larger takes several.
type Trace struct {
	at []time.Duration // since the start, ascending, last > 0
}

// NewTrace makes a trace of opportunities in milliseconds, ascending, the last above 0.
func NewTrace(ms []int64) (Trace, error) {
	if len(ms) == 0 {
		return Trace{}, errors.New("trace_ms: no opportunity")
	}
	at := make([]time.Duration, len(ms))
	for i, t := range ms {
		if t < 0 || t > maxTraceMS {
			return Trace{}, fmt.Errorf("trace_ms[%d]: %d, want milliseconds from 0 to %d", i, t, int64(maxTraceMS))
		}
		if i > 0 && t < ms[i-1] {
			return Trace{}, fmt.Errorf("trace_ms[%d]: %d after %d, want ascending times", i, t, ms[i-1])
		}
		at[i] = time.Duration(t) * time.Millisecond
	}
	if ms[len(ms)-1] == 0 {
		return Trace{}, errors.New("trace_ms: the last opportunity is at 0, want a trace that takes time")
	}
	return Trace{at: at}, nil
}

// ParseTrace reads a mahimahi trace: one integer per line, milliseconds since the start. The error names the
// line.
func ParseTrace(text []byte) (Trace, error) {
	var ms []int64
	lines := bufio.NewScanner(bytes.NewReader(text))
	for number := 1; lines.Scan(); number++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		t, err := strconv.ParseInt(string(line), 10, 64)
		if err != nil {
			return Trace{}, fmt.Errorf("line %d: %.40q, want an integer of milliseconds", number, line)
		}
		ms = append(ms, t)
	}
	if err := lines.Err(); err != nil {
		return Trace{}, err
	}
	return NewTrace(ms)
}

// UnmarshalJSON reads a list of milliseconds.
func (t *Trace) UnmarshalJSON(text []byte) error {
	var ms []int64
	if err := json.Unmarshal(text, &ms); err != nil {
		return fmt.Errorf("trace_ms: %w", err)
	}
	trace, err := NewTrace(ms)
	*t = trace
	return err
}

// MarshalJSON writes the list of milliseconds.
func (t Trace) MarshalJSON() ([]byte, error) {
	ms := make([]int64, len(t.at))
	for i, at := range t.at {
		ms[i] = at.Milliseconds()
	}
	return json.Marshal(ms)
}

// IsZero lets JSON leave out an empty trace.
func (t Trace) IsZero() bool { return len(t.at) == 0 }

func (t Trace) period() time.Duration { return t.at[len(t.at)-1] }

// traceCursor is the place in a repeating trace and what is left of the opportunity there.
type traceCursor struct {
	start time.Duration // of the cycle
	index int
	left  int // bytes
}

// serve returns when a frame that arrived at the given time has gone through, and the cursor after it.
func (c traceCursor) serve(t Trace, arrival time.Duration, bytes int) (time.Duration, traceCursor) {
	if c.time(t) < arrival {
		c = c.seek(t, arrival)
	}
	for bytes > c.left {
		bytes -= c.left
		c = c.next(t)
	}
	c.left -= bytes
	return c.time(t), c
}

func (c traceCursor) time(t Trace) time.Duration { return c.start + t.at[c.index] }

func (c traceCursor) next(t Trace) traceCursor {
	c.left = TraceOpportunityBytes
	if c.index++; c.index == len(t.at) {
		c.index = 0
		c.start += t.period()
	}
	return c
}

// seek finds the first opportunity at the given time or later.
func (c traceCursor) seek(t Trace, at time.Duration) traceCursor {
	cycles := (at - c.start - 1) / t.period()
	c.start += max(0, cycles) * t.period()
	c.index, _ = slices.BinarySearch(t.at, at-c.start)
	c.left = TraceOpportunityBytes
	return c
}
