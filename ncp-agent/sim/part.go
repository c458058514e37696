package sim

import (
	"cmp"
	"slices"
	"time"

	"ncp-testbed/internal/timing"
	"ncp-testbed/ncp-agent/session"
)

// part is what one goroutine drives at a time: some of the transfers, and some
// of the links' directions.
type part struct {
	run       *Run
	now       moment // the last at which it has acted
	network   *network
	transfers []*transfer
	agenda    *agenda       // of transfers: when they next act by themselves
	touched   *list         // transfers that have something to do now
	going     int           // transfers that have not come to their end
	events    []event       // the whole run's, in the order of time
	happened  int           // of these
	first     *transfer     // the run's first, from whose establishment events count, if it is here
	origin    time.Duration // when that was; Never: not yet, or not yet known
	sampleAt  time.Duration
	notices   []notice
	moments   int // at which it has done something
	buffers   map[storage]*session.Buffers
	zeros     [8192]byte
	err       error
}

// moment is a time and the step number at that time: after what takes no time
// something may happen at the same time again.
type moment struct {
	at    time.Duration
	count int // from 1
}

func (m moment) compare(other moment) int {
	return cmp.Or(cmp.Compare(m.at, other.at), cmp.Compare(m.count, other.count))
}

// notice is an event for the observer, which gets it as soon as all parts are so far.
type notice struct {
	at     time.Duration
	kind   int
	number int // of the transfer or event
}

// The kinds of notices, in their order at one time: the timeline counts from a
// transfer's start.
const (
	established = iota
	happened
)

// newPart makes an empty one.
func newPart(run *Run, events []event) *part {
	n := &network{overhead: run.FrameBytes, frame: run.Observer.Frame, byNumber: map[int]*direction{}}
	return &part{run: run, network: n, events: events, origin: timing.Never, buffers: map[storage]*session.Buffers{}}
}

// addDirection adds a direction of its own, or the far end of another's.
func (p *part) addDirection(d *direction) {
	d.part = p
	p.network.byNumber[d.number] = d
	p.network.directions = append(p.network.directions, d)
}

// ready is called when all are there.
func (p *part) ready() {
	n := p.network
	slices.SortFunc(n.directions, func(a, b *direction) int { return a.number - b.number })
	for place, d := range n.directions {
		d.place = place
	}
	n.agenda = newAgenda(len(n.directions), timing.Never)
	n.due, n.again = newList(len(n.directions)), newList(len(n.directions))
	p.agenda, p.touched, p.going = newAgenda(len(p.transfers), 0), newList(len(p.transfers)), len(p.transfers)
	n.touched = p.touched
}

// runTo goes from one moment at which something happens to the next, up to and
// with an end; or to the one at which its last transfer has come to its end, if
// orOver. At each, arrive comes first, then act. A
// packet that arrives as a session looks what to acknowledge is too late for
// that, as on every host: a socket takes time to read, and a round trip of just
// two ACK intervals would else wait for no ACK at all.
func (p *part) runTo(end moment, orOver bool) {
	for next := p.next(); next.compare(end) <= 0 && p.err == nil; next = p.next() {
		p.moments++
		p.now = next
		p.arrive(next.at)
		p.act(next.at)
		if orOver && p.going == 0 {
			return
		}
	}
}

// next is when something next happens here.
func (p *part) next() moment {
	at := min(p.sampleAt, p.network.agenda.first(timing.Never), p.agenda.first(timing.Never))
	if event, ok := p.nextEvent(); ok {
		at = min(at, event)
	}
	if at > p.now.at {
		return moment{at, 1}
	}
	return moment{p.now.at, p.now.count + 1}
}

// arrive lets sessions do what is due, then packets move.
func (p *part) arrive(now time.Duration) {
	p.agenda.due(now, p.touched)
	p.advance(now)
	p.network.deliver(now)
	p.advance(now) // what has arrived may have made something due
}

// act lets events happen, and then the applications and sockets of touched
// transfers do what they do.
func (p *part) act(now time.Duration) {
	p.applyEvents(now)
	if now >= p.sampleAt {
		p.sampleAt += p.run.SampleInterval
		for i := range p.transfers {
			p.touched.add(i)
		}
	}
	for i, ok := p.touched.take(); ok; i, ok = p.touched.take() {
		p.step(i, now)
	}
}

// advance does what is due in the transfers that something has happened to.
func (p *part) advance(now time.Duration) {
	for _, i := range p.touched.numbers {
		p.transfers[i].advance(now)
	}
}

// step lets a transfer act, and notes when it wants to again.
func (p *part) step(i int, now time.Duration) {
	t := p.transfers[i]
	t.step(p, now)
	if !t.over && t.result.ReceivedAt > 0 && t.result.AckedAt > 0 {
		t.over = true
		p.going--
	}
	at, ok := t.next(now)
	if !ok {
		p.err = errStill
	}
	p.agenda.set(i, at)
}

func (p *part) applyEvents(now time.Duration) {
	for {
		at, ok := p.nextEvent()
		if !ok || at > now {
			return
		}
		e := &p.events[p.happened]
		p.network.apply(now, e)
		if e.paused != nil && e.paused.part == p {
			e.paused.pause(e.Connection, now+e.PauseRead)
			p.touched.add(e.paused.transfer.place)
		}
		if p.first != nil {
			p.notices = append(p.notices, notice{now, happened, p.happened})
		}
		p.happened++
	}
}

// nextEvent returns the time of the next event; there is none before the first
// transfer is established.
func (p *part) nextEvent() (at time.Duration, ok bool) {
	if p.origin == timing.Never && p.first != nil && p.first.ends[0].session.State() >= session.Established {
		p.origin = p.first.ends[0].session.EstablishedAt()
	}
	if p.happened == len(p.events) || p.origin == timing.Never {
		return 0, false
	}
	return p.origin + p.events[p.happened].At, true
}
