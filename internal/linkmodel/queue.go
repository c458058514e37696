package linkmodel

import (
	"fmt"
	"time"
)

// Queue modes, see [Queue.Mode].
const (
	QueueDropTail     = "droptail"     // a full queue drops what arrives
	QueueDropHead     = "drophead"     // a full queue drops what has waited longest
	QueueCoDel        = "codel"        // RFC 8289, over a drop-tail limit
	QueueBackPressure = "backpressure" // a full queue refuses, and the sender waits
)

// Queue is what waits for the rate. The frame that is being sent still counts as waiting. A queue without a limit
// grows without bound. An empty queue takes any frame.
type Queue struct {
	// Mode is one of the Queue constants; empty is drop-tail.
	Mode    string `json:"mode,omitempty"`
	Packets int    `json:"packets,omitempty"` // the limit; 0 is none
}

func (q *Queue) validate() error {
	switch q.Mode {
	case "", QueueDropTail, QueueDropHead, QueueCoDel, QueueBackPressure:
	default:
		return fmt.Errorf("queue.mode: %q, want %s, %s, %s or %s",
			q.Mode, QueueDropTail, QueueDropHead, QueueCoDel, QueueBackPressure)
	}
	if q.Packets < 0 {
		return fmt.Errorf("queue.packets: %d, want 0 or more", q.Packets)
	}
	return nil
}

// waiting is one frame in the queue.
type waiting[T any] struct {
	frame   T
	bytes   int
	arrival time.Duration
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

// full reports whether a frame is over a limit in packets; 0 is none.
func (q *fifo[T]) full(limit int) bool { return limit > 0 && q.count >= limit }
