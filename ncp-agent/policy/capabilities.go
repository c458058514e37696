package policy

import (
	"time"
)

// A policy that has windows only leaves the rest to the session, which then
// follows upstream's rules: a connection sends while its window has room, a
// packet is lost when its RTO is over, and any connection takes the next
// segment. A policy that knows better implements one or more of the interfaces
// below. Times are the session's.

// Pacer is a policy that says when packets leave, in place of the windows,
// which then only report.
type Pacer interface {
	// SendAt is the earliest time at which a connection with so many packets
	// in flight may send its next one; timing.Never: not before one has landed.
	SendAt(connection int, now time.Duration, inFlight int) time.Duration
	// Sent is called for each data packet handed to a connection's socket.
	// Starved: since the one before, it was allowed to send and found nothing
	// to send. The mark comes back with the acknowledgement.
	Sent(connection int, now time.Duration, inFlight int, starved bool) Mark
}

// Mark is what a connection knew when it sent a packet.
type Mark struct {
	Delivered   uint64        // packets known to have arrived
	DeliveredAt time.Duration // when the last of them was known
	FirstSent   time.Duration // when the last of them was sent
	Limited     bool          // it had sent less than it was allowed to
}

// Recovery is a policy that judges what is lost. Each sending then counts by
// itself: one that is lost is no longer in flight, and its RTT is taken only
// where there is no doubt which sending arrived (Karn). What the peer's
// application has read counts as acknowledged.
type Recovery interface {
	// RTO is how long a packet may be in flight.
	RTO(connection int) time.Duration
	// Reordering says what makes an older packet of a connection lost once a
	// newer one is acknowledged: both distances, in packets and in time.
	Reordering(connection int) (packets uint64, apart time.Duration)
	// Lost is called for packets sent in a row that are found lost because of
	// a newer one. As each packet is acknowledged once, what looks like many
	// lost in a row may be one lost acknowledgement.
	Lost(connection int, now time.Duration, packets int)
	// OnTimeout is called when packets are found lost because the RTO is over.
	OnTimeout(connection int, now time.Duration)
	// OnSpuriousLoss is called when a packet found lost was acknowledged where it
	// had been sent only once: so long after its sending.
	OnSpuriousLoss(connection int, now, after time.Duration)
	// Probing reports whether a connection is silent: what it sends are copies
	// of packets for which others care.
	Probing(connection int) bool
}

// Scheduler is a policy with Pacer that chooses the connection of the next
// segment.
type Scheduler interface {
	// RunPackets is how many segments in a row a connection takes, so that
	// its peer can acknowledge them in few ranges.
	RunPackets(connection int) int
	// Suits reports whether a connection should take a segment at now, when
	// so many wait and no more will come; else another one will bring it
	// earlier.
	Suits(connection int, now time.Duration, waiting int) bool
	// Arrival estimates when a packet sent at a time arrives.
	Arrival(connection int, sent time.Duration) time.Duration
	// Doubtful reports whether a connection loses so much that, with nothing
	// else to do, what it carries is worth a copy on another.
	Doubtful(connection int) bool
}

// Chooser is a policy with Pacer that says which connection carries the next
// segment, where else it is whichever asks first: as MPTCP's schedulers do.
type Chooser interface {
	// Takes decides whether a connection that may send takes the next segment;
	// else it is left for another one. A decision may change later ones, so it is
	// no query: the session calls it when a connection's socket can take a packet.
	// A policy that leaves a segment to a connection that can't take it now must
	// know that this one has something in flight: the session calls again when
	// something has happened.
	Takes(connection int, m Moment) bool
}

// Moment is what a session knows when a connection asks for a segment. What is
// there per connection is good until the call returns.
type Moment struct {
	Now     time.Duration
	Waiting int  // segments that no connection has taken
	Window  int  // segments that the send window holds in all
	Blocked bool // since the last segment was taken, a connection found none, as the send window was full

	InFlight []int  // packets
	Usable   []bool // neither broken nor paused after a write error
	Open     []bool // its socket takes a packet, as far as is known
}

// Capabilities are what a policy brings beyond windows; nil where it does not.
type Capabilities struct {
	Pacer     Pacer
	Recovery  Recovery
	Scheduler Scheduler
	Chooser   Chooser
}

// CapabilitiesOf finds out what a policy brings.
func CapabilitiesOf(p Policy) Capabilities {
	var c Capabilities
	c.Pacer, _ = p.(Pacer)
	c.Recovery, _ = p.(Recovery)
	c.Scheduler, _ = p.(Scheduler)
	c.Chooser, _ = p.(Chooser)
	return c
}
