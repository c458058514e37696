package session

import (
	"time"

	"ncp-testbed/internal/timing"
	"ncp-testbed/ncp-agent/wire"
)

// This file hands out segments for policies with Pacer, and with Scheduler or
// Chooser if they bring that too.

// idleBeforeCopies is how long there must be nothing new to send before
// connections that have nothing to do carry copies, and how long after its
// last write the application is expected to write more.
const idleBeforeCopies = 5 * time.Millisecond

// copyGain is by how much a copy must be earlier to be worth its sending.
const copyGain = 10 * time.Millisecond

// run is a stretch of segments in a row that a connection has taken to send.
type run struct{ next, end uint64 }

// choice is a segment for a connection, and where it comes from.
type choice struct {
	position uint64
	from     source
	found    bool // else there is none
}

type source int

const (
	fromResends source = iota
	fromRun
	fromNew
	fromOther // another connection's run, its last
	fromCopies
)

// pacedReady reports whether nextPaced would hand out a segment or note that there is none. A Chooser's decision changes
// its state, so only nextPaced asks for one; here it is enough that there is something to decide.
func (s *Session) pacedReady(now time.Duration, c *connection) bool {
	if s.caps.Pacer.SendAt(c.index, now, c.inFlight) > now {
		return false
	}
	if s.caps.Chooser != nil {
		if choice, decided := s.chooseSilent(c); decided {
			return choice.found
		}
		return s.sender.waiting() || s.sender.full() && !s.schedState.Blocked
	}
	return s.choose(now, c).found || !c.starved
}

func (s *Session) nextPaced(now time.Duration, c *connection, p *wire.Packet) bool {
	c.busy = false
	if now < c.pausedUntil || s.caps.Pacer.SendAt(c.index, now, c.inFlight) > now {
		return false
	}
	choice := s.choose(now, c)
	if !choice.found {
		c.starved = true
		return false
	}
	s.commit(c, choice)
	s.handOut(now, c, choice.position, p)
	c.busy = true
	return true
}

// paceDeadline is when the next connection may send.
func (s *Session) paceDeadline() time.Duration {
	next := timing.Never
	if s.sender.segments.len() == 0 {
		return next
	}
	for i := range s.conns[:s.paired] {
		if at := s.caps.Pacer.SendAt(i, s.now, s.conns[i].inFlight); at > s.now {
			next = min(next, at)
		}
	}
	if at := s.sender.idleSince + idleBeforeCopies; s.sender.idle() && at > s.now {
		next = min(next, at)
	}
	return next
}

// idle reports whether there is nothing new to send.
func (o *sender) idle() bool { return o.next == o.segments.end }

// choose finds the segment that a connection should send next: what is lost,
// what it has taken, what is new; with none of these, what another connection
// has taken or would bring later. It changes nothing but a Chooser.
func (s *Session) choose(now time.Duration, c *connection) choice {
	o := &s.sender
	if choice, decided := s.chooseSilent(c); decided {
		return choice
	}
	if s.caps.Chooser != nil && !s.takes(now, c) {
		return choice{}
	}
	if o.resendWaits() && s.suits(now, c, o.resends.len()) {
		return choice{*o.resends.at(o.resends.base), fromResends, true}
	}
	if c.run.next < c.run.end {
		return choice{c.run.next, fromRun, true}
	}
	if !o.idle() {
		waiting := int(o.segments.end - o.next)
		more := !o.room() || now < o.wroteAt+idleBeforeCopies // the application keeps writing
		if more || s.suits(now, c, waiting) {
			return choice{o.next, fromNew, true}
		}
		return choice{}
	}
	if s.caps.Scheduler == nil || now < o.idleSince+idleBeforeCopies || o.resends.len() > 0 {
		return choice{}
	}
	if choice := s.othersRun(c); choice.found {
		return choice
	}
	return s.chooseCopy(now, c)
}

// chooseSilent decides what a silent connection sends, while there are others to carry the rest.
func (s *Session) chooseSilent(c *connection) (probe choice, decided bool) {
	if s.caps.Recovery == nil || !s.caps.Recovery.Probing(c.index) {
		return choice{}, false
	}
	probe = s.chooseProbe(c)
	return probe, probe.found || s.anyAnswers()
}

// takes lets a policy with Chooser decide whether a connection takes the next segment.
func (s *Session) takes(now time.Duration, c *connection) bool {
	o, m := &s.sender, &s.schedState
	if !o.waiting() {
		m.Blocked = m.Blocked || o.full()
		return false
	}
	m.Now = now
	m.Window = int(o.window) / o.mtu
	m.Waiting = o.resends.len() + int(o.segments.end-o.next)
	m.InFlight, m.Usable, m.Open = m.InFlight[:0], m.Usable[:0], m.Open[:0]
	for i := range s.conns[:s.paired] {
		other := &s.conns[i]
		m.InFlight = append(m.InFlight, other.inFlight)
		m.Usable = append(m.Usable, !other.broken && now >= other.pausedUntil)
		m.Open = append(m.Open, !other.busy)
	}
	return s.caps.Chooser.Takes(c.index, *m)
}

func (s *Session) suits(now time.Duration, c *connection, waiting int) bool {
	return s.caps.Scheduler == nil || s.caps.Scheduler.Suits(c.index, now, waiting)
}

// commit takes the chosen segment from where it waits.
func (s *Session) commit(c *connection, choice choice) {
	o := &s.sender
	s.schedState.Blocked = false
	switch choice.from {
	case fromResends:
		o.segments.at(choice.position).queued = false
		o.resends.pop()
	case fromRun:
		c.run.next++
	case fromNew:
		length := uint64(1)
		if s.caps.Scheduler != nil {
			length = min(uint64(max(s.caps.Scheduler.RunPackets(c.index), 1)), o.segments.end-o.next)
		}
		c.run = run{o.next + 1, o.next + length}
		o.next += length
		if o.idle() {
			o.idleSince = s.now
		}
	case fromOther:
		for i := range s.conns[:s.paired] {
			if r := &s.conns[i].run; r.next < r.end && r.end == choice.position+1 {
				r.end--
			}
		}
	}
}

// chooseProbe finds the oldest segment that a silent connection may carry a
// copy of. The segment stays with whoever has it.
func (s *Session) chooseProbe(c *connection) choice {
	o := &s.sender
	for position := o.segments.base; position < o.next; position++ {
		g := o.segments.at(position)
		if g.acked || !g.sent {
			continue
		}
		if t := g.on(c.index); t == nil || t.fate == lost {
			return choice{position, fromCopies, true}
		}
	}
	return choice{}
}

// anyAnswers reports whether there is a connection that is not silent, to care
// for what a silent one does not take.
func (s *Session) anyAnswers() bool {
	for i := range s.conns[:s.paired] {
		if !s.conns[i].broken && !s.caps.Recovery.Probing(i) {
			return true
		}
	}
	return false
}

// othersRun finds the last segment of the longest stretch that another
// connection has taken and not yet sent.
func (s *Session) othersRun(c *connection) choice {
	var longest run
	for i := range s.conns[:s.paired] {
		if r := s.conns[i].run; i != c.index && r.end-r.next > longest.end-longest.next {
			longest = r
		}
	}
	return choice{longest.end - 1, fromOther, longest.end > longest.next}
}

// chooseCopy finds the segment in flight elsewhere that would arrive latest,
// if a copy here would be earlier, or if its connection is doubtful.
func (s *Session) chooseCopy(now time.Duration, c *connection) choice {
	here := s.caps.Scheduler.Arrival(c.index, now) + copyGain
	latest := time.Duration(0)
	var found uint64
	for i := range s.conns[:s.paired] {
		other := &s.conns[i]
		if other == c {
			continue
		}
		for order := other.flights.end; order > other.flights.base; order-- {
			f := other.flights.at(order - 1)
			if !f.live {
				continue
			}
			g := s.sender.segments.at(f.position)
			if g.acked || g.on(c.index) != nil {
				continue
			}
			arrival, sure := s.arrival(g)
			if arrival > latest && (arrival > here || !sure) {
				latest, found = arrival, f.position
			}
			break
		}
	}
	return choice{found, fromCopies, latest > 0}
}

// arrival estimates when a segment in flight arrives first, and whether one of
// the connections that carry it is without doubt.
func (s *Session) arrival(g *segment) (first time.Duration, sure bool) {
	first = timing.Never
	for _, t := range g.sends {
		if t.fate == underway {
			carrier := &s.conns[t.conn]
			sentAt := carrier.flights.at(t.order).sentAt
			first = min(first, s.caps.Scheduler.Arrival(carrier.index, sentAt))
			sure = sure || !s.caps.Scheduler.Doubtful(carrier.index)
		}
	}
	return first, sure
}

// returnRun leaves what a connection has taken and not yet sent to all.
func (s *Session) returnRun(c *connection) {
	for ; c.run.next < c.run.end; c.run.next++ {
		if g := s.sender.segments.at(c.run.next); !g.queued {
			s.sender.queue(c.run.next)
		}
	}
}
