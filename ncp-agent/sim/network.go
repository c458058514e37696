package sim

import (
	"cmp"
	"time"

	"ncp-testbed/internal/linkmodel"
	"ncp-testbed/internal/timing"
)

// packet is one packet under way.
type packet struct {
	bytes []byte
	to    *end
	conn  int
	route []*direction // what is left of its way

	corrupt bool // a bit of it was flipped on the way
}

// direction is one direction of one link, in the part that sends into it. In
// each other part that packets come to out of it another direction stands for
// its far end; that has no model.
type direction struct {
	*linkmodel.Pipe[*packet]
	number          int         // in the run
	place           int         // in the part; there in the same order
	senders         []*transfer // who sends into it first
	inHandBytes     int         // of what they have in hand for it
	down            bool
	lost            uint64 // while it was
	sent, sentBytes uint64
	delaySum        time.Duration // of those sent, from the queue to the far end

	part   *part
	ends   map[*part]*direction // its far ends in other parts; nil: it has none
	coming []crossing           // of a far end: what comes out of it, in the order of time
	came   int                  // of these
}

// crossing is a packet on its way from one part to another.
type crossing struct {
	packet *packet
	to     *direction // the far end
	due    time.Duration
}

// come adds a packet to those that come out of a far end.
func (d *direction) come(c crossing) {
	if 2*d.came > len(d.coming) {
		d.coming, d.came = append(d.coming[:0], d.coming[d.came:]...), 0
	}
	d.coming = append(d.coming, c)
}

// network is the links of a part, and the packets' storage.
type network struct {
	directions []*direction       // in the order of their numbers
	byNumber   map[int]*direction // the same
	agenda     *agenda            // of directions: when something next happens in them
	due, again *list              // directions, while packets move
	touched    *list              // transfers that something has happened to
	free       []*packet
	leaving    []crossing // into other parts
	overhead   int
	frame      func(time.Duration, *Frame) // the observer's
}

// newDirection makes one direction of a link, which sends into a part's network.
func (n *network) newDirection(run *Run, number int) *direction {
	d := &direction{number: number}
	hooks := linkmodel.Hooks[*packet]{
		Drop: func(p *packet, _ linkmodel.Cause) { n.recycle(p) },
		Copy: func(p *packet) (*packet, bool) {
			return n.packet(append(n.storage(), p.bytes...), p.to, p.conn, p.route), true
		},
		Enter: func(on *linkmodel.Delivery[*packet]) {
			if d.ends != nil {
				n.handOver(d, on)
			}
		},
	}
	l := &run.Links[number/2]
	d.Pipe = linkmodel.NewPipe(run.properties(number), cmp.Or(l.Seed, run.Seed), l.Name, linkmodel.Directions[number%2], 0, hooks)
	return d
}

// handOver lets a packet that comes out of a direction into another part go
// there. The direction still counts it when it is due.
func (n *network) handOver(d *direction, on *linkmodel.Delivery[*packet]) {
	p := on.Frame
	to := p.to.part
	if len(p.route) > 0 {
		to = p.route[0].part
	}
	if to == d.part {
		return
	}
	p.corrupt = p.corrupt || on.FlipBit >= 0
	n.leaving = append(n.leaving, crossing{p, d.ends[to], on.Due})
	on.Frame = nil
}

// storage returns room for the bytes of the packet that is made next.
func (n *network) storage() []byte {
	if len(n.free) == 0 {
		n.free = append(n.free, &packet{})
	}
	return n.free[len(n.free)-1].bytes[:0]
}

// packet makes a packet of bytes that were written into storage.
func (n *network) packet(bytes []byte, to *end, conn int, route []*direction) *packet {
	last := len(n.free) - 1
	p := n.free[last]
	n.free = n.free[:last]
	p.bytes, p.to, p.conn, p.route, p.corrupt = bytes, to, conn, route, false
	return p
}

// recycle takes a packet back; nil: it has left for another part.
func (n *network) recycle(p *packet) {
	if p != nil {
		n.free = append(n.free, p)
	}
}

// push sends a packet into the next direction of its route.
func (n *network) push(now time.Duration, p *packet) {
	d := p.route[0]
	p.route = p.route[1:]
	if d.down {
		d.lost++
		n.recycle(p)
		return
	}
	n.tell(now, d, p, false)
	if !d.Push(p, len(p.bytes)+n.overhead, now) {
		n.recycle(p) // larger than the requested room: a handshake with long ids
	}
	n.schedule(d)
}

// tell shows the observer a packet at an end of a direction.
func (n *network) tell(now time.Duration, d *direction, p *packet, arrived bool) {
	if n.frame != nil {
		n.frame(now, &Frame{d.number / 2, d.number%2 == 1, arrived, p.to.transfer.number, 1 - p.to.which, p.conn, p.bytes})
	}
}

// schedule notes when something next happens in a direction.
func (n *network) schedule(d *direction) {
	next := timing.Never
	if d.Pipe == nil {
		if d.came < len(d.coming) {
			next = d.coming[d.came].due
		}
	} else if at, ok := d.Next(); ok {
		next = at
	}
	n.agenda.set(d.place, next)
}

// deliver moves all packets that are due, hop by hop: through the directions
// in their order, and through those again that a later one has passed a packet.
func (n *network) deliver(now time.Duration) {
	n.agenda.due(now, n.due)
	for len(n.due.numbers) > 0 {
		for i, ok := n.due.take(); ok; i, ok = n.due.take() {
			if d := n.directions[i]; d.Pipe == nil {
				n.deliverFromAfar(d, now)
			} else {
				n.deliverFrom(d, now)
			}
		}
		n.due, n.again = n.again, n.due
	}
}

func (n *network) deliverFrom(d *direction, now time.Duration) {
	for {
		delivery, ok := d.Pop(now)
		if !ok {
			break
		}
		p := delivery.Frame
		if d.down {
			d.lost++
			n.recycle(p)
			continue
		}
		d.sent++
		d.sentBytes += uint64(delivery.Bytes)
		d.delaySum += delivery.Due - delivery.Left
		if p != nil {
			p.corrupt = p.corrupt || delivery.FlipBit >= 0
			n.pass(now, d, p)
		}
	}
	n.schedule(d)
	n.moved(d)
}

// deliverFromAfar does the same for what comes out of another part's direction.
func (n *network) deliverFromAfar(d *direction, now time.Duration) {
	for d.came < len(d.coming) && d.coming[d.came].due <= now {
		p := d.coming[d.came].packet
		d.came++
		if d.down {
			n.recycle(p)
			continue
		}
		n.pass(now, d, p)
	}
	n.schedule(d)
}

// pass takes a packet that comes out of a direction to where it goes.
func (n *network) pass(now time.Duration, d *direction, p *packet) {
	if !p.corrupt {
		n.tell(now, d, p, true)
	}
	if len(p.route) == 0 {
		if p.corrupt {
			n.recycle(p) // as a host does by IP's or UDP's checksum, which tells every single bit
		} else {
			p.to.arrive(now, p)
		}
		return
	}
	onward := p.route[0].place
	n.push(now, p)
	switch {
	case n.agenda.at[onward] > now:
	case onward > d.place:
		n.due.add(onward)
	case onward < d.place:
		n.again.add(onward)
	}
}

// moved says that a packet has left a direction. Transfers that wait for their
// queues alone have something to do only when this one is half empty.
func (n *network) moved(d *direction) {
	wakes := d.wakes()
	for _, t := range d.senders {
		if wakes || !t.stopped() {
			n.touched.add(t.place)
		}
	}
}

// touch says that a direction has changed, for whoever sends into it.
func (n *network) touch(d *direction) {
	for _, t := range d.senders {
		n.touched.add(t.place)
	}
}

// room reports whether a frame may be sent into a direction now: a link that is down
// takes everything, and loses it.
func (d *direction) room() bool { return d.down || d.Room() }

// wakes reports whether a sender that found no room goes on.
func (d *direction) wakes() bool { return d.down || d.Writable() }

// apply carries an event out on the directions that are here.
func (n *network) apply(now time.Duration, e *event) {
	for _, i := range e.directions {
		d := n.byNumber[i]
		if d == nil {
			continue
		}
		if e.Up != nil {
			d.down = !*e.Up
		}
		if d.Pipe == nil {
			continue
		}
		if e.Set != nil {
			d.Set(now, e.Set)
		}
		n.schedule(d)
		n.touch(d)
	}
}
