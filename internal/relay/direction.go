package relay

import (
	"net"
	"time"

	"ncp-testbed/internal/linkmodel"
	"ncp-testbed/internal/timing"
)

// Faults counts frames that were dropped though the link's properties did not ask for it: each is a fault of
// the machine or of the set-up.
type Faults struct {
	Oversize uint64 `json:"oversize"`  // larger than the MTU: a host's interface has segmentation offload on unasked
	NoBuffer uint64 `json:"no_buffer"` // more frames held than there is memory for
	Send     uint64 `json:"send"`      // refused by the interface towards the host
	Backlog  uint64 `json:"backlog"`   // taken by that interface, but not by the host: its processor's queue was full
	Refused  uint64 `json:"refused"`   // by back-pressure, which cannot reach across an Ethernet link
}

// Total is the sum.
func (u Faults) Total() uint64 { return u.Oversize + u.NoBuffer + u.Send + u.Backlog + u.Refused }

// direction is one direction of a link in the relay.
type direction struct {
	index   int // among all
	link    string
	name    linkmodel.Direction
	model   *linkmodel.Pipe[int32]
	to      *net.Interface // towards the host that receives
	pool    *pool          // of its frames
	sender  *sender        // of its frames, with those of others
	pending []*Change      // scheduled, in time order

	sent, sentBytes uint64
	delaySum        time.Duration // of the frames sent
	faults          Faults
	down            uint64     // dropped because the interface towards the host, or its peer there, was down
	checksums       uint64     // completed because the host left them to its device
	lateness        *histogram // since the last sample
}

// next is when the model next has something to do.
func (d *direction) next() time.Duration {
	if next, ok := d.model.Next(); ok {
		return next
	}
	return timing.Never
}

// push hands the frame in a buffer to the model.
func (d *direction) push(buffer int32, arrival time.Duration) {
	if !d.model.Push(buffer, int(d.pool.length[buffer]), arrival) {
		d.faults.Refused++ // back-pressure cannot reach across an Ethernet link
		d.pool.give(buffer)
	}
}

// applyUntil applies what is scheduled up to a logical time, so that a change falls between the frames that
// arrived before and after it, however late the relay is. wall is now, as Unix time.
func (d *direction) applyUntil(until time.Duration, wall timing.Unix) {
	for len(d.pending) > 0 && d.pending[0].at <= until {
		change := d.pending[0]
		d.pending = d.pending[1:]
		d.model.Set(change.at, &change.Set)
		change.AppliedUnixNS = wall
		change.applied()
	}
}
