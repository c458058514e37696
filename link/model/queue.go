package model

import "fmt"

// Queue modes, see [Queue.Mode].
const (
	QueueDropTail     = "droptail"     // a full queue drops what arrives
	QueueDropHead     = "drophead"     // a full queue drops what has waited longest
	QueueCoDel        = "codel"        // RFC 8289, over a drop-tail limit
	QueueBackPressure = "backpressure" // a full queue refuses, and the sender waits
)

// Queue is what waits for the rate. The frame that is being sent still counts as waiting. Of the limits the
// tightest holds, zero ones aside; a queue without a limit grows without bound. An empty queue takes any frame.
type Queue struct {
	// Mode is one of the Queue constants; empty is drop-tail.
	Mode    string  `json:"mode,omitempty"`
	Packets int     `json:"packets,omitempty"`
	Bytes   int     `json:"bytes,omitempty"`
	MS      float64 `json:"ms,omitempty"`  // of the rate
	BDP     float64 `json:"bdp,omitempty"` // times rate × twice the one-way delay
	// TargetMS and IntervalMS are CoDel's; 0 is RFC 8289's 5 and 100.
	TargetMS   float64 `json:"target_ms,omitempty"`
	IntervalMS float64 `json:"interval_ms,omitempty"`
}

func (q *Queue) validate() error {
	switch q.Mode {
	case "", QueueDropTail, QueueDropHead, QueueCoDel, QueueBackPressure:
	default:
		return fmt.Errorf("queue.mode: %q, want %s, %s, %s or %s",
			q.Mode, QueueDropTail, QueueDropHead, QueueCoDel, QueueBackPressure)
	}
	for _, p := range []struct {
		name  string
		value float64
	}{
		{"packets", float64(q.Packets)}, {"bytes", float64(q.Bytes)}, {"ms", q.MS}, {"bdp", q.BDP},
		{"target_ms", q.TargetMS}, {"interval_ms", q.IntervalMS},
	} {
		if !(p.value >= 0 && p.value <= 1e12) {
			return fmt.Errorf("queue.%s: %v, want 0 or more", p.name, p.value)
		}
	}
	return nil
}

// limits are a queue's, resolved against the rate and the delay; 0 is none.
type limits struct{ packets, bytes int }

func newLimits(p *Properties) limits {
	l := limits{packets: p.Queue.Packets, bytes: p.Queue.Bytes}
	for _, seconds := range []float64{p.Queue.MS / 1e3, p.Queue.BDP * 2 * p.DelayMS / 1e3} {
		switch {
		case seconds == 0:
		case p.RatePPS > 0:
			l.packets = tighter(l.packets, p.RatePPS*seconds)
		case p.RateBPS > 0:
			l.bytes = tighter(l.bytes, p.RateBPS/8*seconds)
		default:
			l.bytes = tighter(l.bytes, p.Trace.MeanBPS()/8*seconds)
		}
	}
	return l
}

func tighter(limit int, other float64) int {
	o := max(1, int(min(other, 1e15)))
	if limit == 0 {
		return o
	}
	return min(limit, o)
}

// waiting is one frame in the queue.
type waiting[T any] struct {
	frame   T
	bytes   int
	arrival Time
}

// fifo is the queue.
type fifo[T any] struct {
	ring[waiting[T]]
	bytes int
}

func (q *fifo[T]) push(w waiting[T]) {
	*q.ring.push() = w
	q.bytes += w.bytes
}

func (q *fifo[T]) pop() waiting[T] {
	w := *q.front()
	q.ring.pop()
	q.bytes -= w.bytes
	return w
}

// full tells whether a frame of the given size is over the limits.
func (q *fifo[T]) full(l limits, bytes int) bool {
	if q.count == 0 {
		return false
	}
	return l.packets > 0 && q.count >= l.packets || l.bytes > 0 && q.bytes+bytes > l.bytes
}
