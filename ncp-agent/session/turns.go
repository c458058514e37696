package session

import "slices"

// MaxBatch is the most packets that a connection is handed in one turn.
const MaxBatch = 60

// Turns says which of a session's connections is handed packets next where several can send: the one that was served
// longest ago, for a batch of packets. Upstream's sender serves whoever has waited longest, a packet each; batches are
// what lets a driver write many packets by one system call. Whoever drives a session, by sockets or in virtual time,
// keeps to it: without, the order in which goroutines happen to run decides who carries what.
type Turns struct {
	waiting      []int // connections that can send, in the order of their turns
	order        []int // all connections, the one served longest ago first
	batch, limit []int // packets, by connection
}

// NewTurns makes the turns of connections with queues of so many packets; 0 is one of unknown size.
func NewTurns(queuePackets []int) *Turns {
	t := &Turns{}
	for c, packets := range queuePackets {
		limit := MaxBatch
		if packets > 0 {
			// What waits for a full socket is lost to the other connections: keep it small beside the queue.
			limit = min(limit, max(1, packets/8))
		}
		t.order, t.batch, t.limit = append(t.order, c), append(t.batch, 1), append(t.limit, limit)
	}
	return t
}

// Order returns the connections in the order in which they come to the queue.
func (t *Turns) Order() []int { return t.order }

// Ask queues a connection that can send, once.
func (t *Turns) Ask(c int) {
	if !slices.Contains(t.waiting, c) {
		t.waiting = append(t.waiting, c)
	}
}

// Next returns the connection whose turn it is.
func (t *Turns) Next() (c int, ok bool) {
	if len(t.waiting) == 0 {
		return 0, false
	}
	return t.waiting[0], true
}

// Packets returns how many packets the connection whose turn it is may take.
func (t *Turns) Packets() int { return t.batch[t.waiting[0]] }

// End ends the turn of a connection that has taken so many packets.
func (t *Turns) End(taken int) {
	c := t.waiting[0]
	t.waiting = append(t.waiting[:0], t.waiting[1:]...)
	if taken > 0 {
		t.order = append(slices.DeleteFunc(t.order, func(other int) bool { return other == c }), c)
	}
}

// Sent sets a connection's next batch: twice the last if its socket took all at once, else one packet.
func (t *Turns) Sent(c int, all bool) {
	if t.batch[c] = min(2*t.batch[c], t.limit[c]); !all {
		t.batch[c] = 1
	}
}
