package relay

import "time"

import "ncp-testbed/internal/timing"

import "ncp-testbed/internal/linkmodel"

// Sample is the state of one direction at one moment. All but Lateness and the held are cumulative.
type Sample struct {
	Link            string
	Direction       linkmodel.Direction
	Properties      linkmodel.Properties
	Counts          linkmodel.Counts
	Sent, SentBytes uint64
	DelaySum        time.Duration
	Faults          Faults
	Down            uint64
	towards         string // the interface to which it sends
	Checksums       uint64
	HeldFrames      int
	HeldBytes       int
	Lateness        *histogram // since the sample before
}

// sample takes a sample of every direction at one moment; the histograms of the samples before are taken
// over, so a caller must be done with them. It runs on the loop's thread, and leaves the sorting to the caller.
func (r *Relay) sample() (at timing.Unix) {
	at = r.loop.clock.read().wall
	for i, d := range r.loop.directions {
		s := &r.samples[i]
		s.Link, s.Direction = d.link, d.name
		s.Properties, s.Counts = d.model.Properties(), d.model.Counts()
		s.Sent, s.SentBytes, s.DelaySum = d.sent, d.sentBytes, d.delaySum
		s.Faults, s.Down, s.Checksums = d.faults, d.down, d.checksums
		s.towards = d.to.Name
		s.HeldFrames, s.HeldBytes = d.model.Held()
		s.Lateness, d.lateness = d.lateness, s.Lateness
	}
	return at
}

// RingDrops is how many frames, of any link, the kernel has dropped because the relay did not come to read in
// time.
func (r *Relay) RingDrops() (drops uint64) {
	read := func() {
		drops = r.loop.receiver.drops()
		if r.loop.segments != nil {
			drops += r.loop.segments.drops()
		}
	}
	if !r.loop.do(read) {
		read()
	}
	return drops
}
