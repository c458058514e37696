// Package sim runs NCP sessions over modelled links in virtual time. The
// sessions and the links are those that sockets and the relay drive; only the
// clock differs. There is no wall clock and no map order, and goroutines meet
// before anything passes between them: the same run gives the same result.
package sim

import (
	"errors"
	"fmt"
	"time"

	"ncp-testbed/internal/linkmetrics"
	"ncp-testbed/internal/linkmodel"
	"ncp-testbed/ncp-agent/session"
)

// Link is one link; AB leads away from the senders. A queue in back-pressure
// mode makes whoever sends into it wait, so it can only be the first of a path.
type Link struct {
	Name   string
	AB, BA linkmodel.Properties
	Seed   uint64 // of its chances; 0: the run's
}

// Transfer is one session that sends Bytes from its dialling end to the other.
type Transfer struct {
	Name             string
	Sender, Receiver session.Config
	// Paths has one list per connection: the names of the links that it
	// crosses, in order from sender to receiver.
	Paths [][]string
	Bytes int64
	Start time.Duration
	// Source returns the next part of the payload, good until the next call;
	// Sink takes what arrives. Without them the payload is all zeros.
	Source func() []byte
	Sink   func([]byte)
	// ReceiveBufferPackets is what a connection's socket holds while its
	// reader is paused; what comes beyond is lost. 0: no bound.
	ReceiveBufferPackets int
}

// Event changes the network at a time since the first transfer was established.
type Event struct {
	At        time.Duration
	Link      string              // a link changes
	Direction linkmodel.Direction // empty is both
	Set       *linkmodel.Change   // its properties, to this
	Up        *bool               // its carrier; while it is down, what is sent or under way is lost

	Transfer   string // or: the reader of one connection of this transfer stops
	Connection int    // from 0
	PauseRead  time.Duration
}

// Run is what a simulation is given.
type Run struct {
	Links     []Link
	Transfers []Transfer
	Events    []Event
	Seed      uint64
	// FrameBytes is what the network adds to a packet, for rates in bits.
	FrameBytes int
	// SampleInterval is the time between samples; 0 is 100 ms.
	SampleInterval time.Duration
	// Until ends the run if the transfers have not. 0 is an hour.
	Until time.Duration
	// Workers is how many cores it may use: 0 is all. The result is the same.
	// Of several transfers sources and sinks are called in parallel.
	Workers int
	// Observer sees what happens.
	Observer Observer
}

// Observer sees what happens, in the order of time. What it is given is good
// until it returns. Any of its functions may be nil.
type Observer struct {
	// Packet: an end hands a packet to the network.
	Packet func(now time.Duration, transfer, end, connection int, packet []byte)
	// Frame: a packet comes to a link's near end, or out of its far one.
	Frame func(now time.Duration, f *Frame)
	// Established: the sender of a transfer has its handshake done.
	Established func(now time.Duration, transfer int)
	// Sample: the state of a transfer, every SampleInterval; with it the
	// result keeps no samples, so that memory is bounded.
	Sample func(now time.Duration, transfer int, sender, receiver *session.Stats)
	// Links: the state of all links at the same times, ab and ba of each in turn.
	Links func(now time.Duration, states []linkmetrics.State)
	// Event: that of this index, by time, has happened.
	Event func(now time.Duration, index int)
}

// Frame is a packet at an end of a link.
type Frame struct {
	Link       int  // of Run.Links
	Back       bool // its direction: ba, towards the senders
	Arrived    bool // out of its far end, undamaged; else before its queue
	Transfer   int
	From       int // which end sent it: 0 is the one that dials
	Connection int
	Packet     []byte
}

// Sample is the state of one transfer at a time since the run's start.
type Sample struct {
	At               time.Duration
	Transfer         int
	Sender, Receiver session.Stats
}

// TransferResult is how one transfer went. Times are since the run's start;
// those that never came are 0.
type TransferResult struct {
	EstablishedAt time.Duration // at the sender
	ReceivedAt    time.Duration // the receiver's application has all
	AckedAt       time.Duration // the sender knows that all has arrived
	Received      int64         // bytes that the receiver's application read
	Sender        session.Stats // at the end
	Receiver      session.Stats
}

// GoodputBPS is what the receiver's application got per second, in bits, from
// the sender's establishment to the last byte; 0 if it did not get all.
func (r *TransferResult) GoodputBPS() float64 {
	if r.ReceivedAt == 0 {
		return 0
	}
	return float64(r.Received) * 8 / (r.ReceivedAt - r.EstablishedAt).Seconds()
}

// LinkResult counts what became of the frames of a link.
type LinkResult struct {
	Name   string
	AB, BA linkmodel.Counts
}

// Result is the outcome of a simulation.
type Result struct {
	EndedAt   time.Duration
	Transfers []TransferResult
	Links     []LinkResult
	Samples   []Sample
}

// Done reports whether every transfer came to its end.
func (r *Result) Done() bool {
	for i := range r.Transfers {
		if r.Transfers[i].ReceivedAt == 0 || r.Transfers[i].AckedAt == 0 {
			return false
		}
	}
	return true
}

// Simulate runs until every transfer is received and acknowledged, or the
// time is up. An error means that the run makes no sense.
func Simulate(run Run) (*Result, error) {
	if run.SampleInterval == 0 {
		run.SampleInterval = 100 * time.Millisecond
	}
	if run.Until == 0 {
		run.Until = time.Hour
	}
	w, err := newWorld(&run)
	if err != nil {
		return nil, err
	}
	if err := w.simulate(); err != nil {
		return nil, err
	}
	return w.result(), nil
}

var errStill = errors.New("sim: a session's deadline does not move: time stands still")

func unknown(kind, name string) error { return fmt.Errorf("sim: no %s %q", kind, name) }
