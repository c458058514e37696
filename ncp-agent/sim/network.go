package sim

import (
	"cmp"
	"fmt"
	"time"

	"ncp-testbed/link/model"
	"ncp-testbed/link/record"
	"ncp-testbed/ncp-agent/session"
)

// packet is one packet under way.
type packet struct {
	bytes []byte
	to    *end
	conn  int
	route []*direction // what is left of its way

	corrupt bool // a bit of it was flipped on the way
}

// direction is one direction of one link.
type direction struct {
	*model.Direction[*packet]
	index           int
	senders         []*transfer // who sends into it first
	unplugged       bool
	lost            uint64 // while it was
	sent, sentBytes uint64
	delaySum        int64 // of those sent, from the queue to the far end, in nanoseconds
}

// network is all links, and the packets' storage.
type network struct {
	directions []*direction // of link i: 2i leads away from the senders
	names      []string
	byName     map[string]int
	agenda     *agenda // of directions: when something next happens in them
	due, again *list   // directions, while packets move
	touched    *list   // transfers that something has happened to
	free       []*packet
	overhead   int
	frame      func(time.Duration, *Frame) // the observer's
}

func newNetwork(run *Run) (*network, error) {
	n := &network{
		overhead: run.FrameBytes, frame: run.Observer.Frame, byName: map[string]int{}, agenda: newAgenda(2*len(run.Links), session.Never),
		due: newList(2 * len(run.Links)), again: newList(2 * len(run.Links)), touched: newList(len(run.Transfers)),
	}
	for _, l := range run.Links {
		for i, p := range []model.Properties{l.AB, l.BA} {
			hooks := model.Hooks[*packet]{
				Drop: func(p *packet, _ model.Cause) { n.recycle(p) },
				Copy: func(p *packet) (*packet, bool) {
					return n.packet(append(n.storage(), p.bytes...), p.to, p.conn, p.route), true
				},
			}
			d := model.NewDirection(p, cmp.Or(l.Seed, run.Seed), l.Name, []string{"ab", "ba"}[i], 0, hooks)
			n.directions = append(n.directions, &direction{Direction: d, index: len(n.directions)})
		}
		n.byName[l.Name] = len(n.names)
		n.names = append(n.names, l.Name)
	}
	return n, nil
}

// route gives the directions that a connection crosses, forward and back.
func (n *network) route(path []string) (forward, back []*direction, err error) {
	if len(path) == 0 {
		return nil, nil, fmt.Errorf("sim: a connection without a link")
	}
	for _, name := range path {
		i := n.link(name)
		if i < 0 {
			return nil, nil, unknown("link", name)
		}
		forward = append(forward, n.directions[2*i])
		back = append([]*direction{n.directions[2*i+1]}, back...)
	}
	for _, route := range [][]*direction{forward, back} {
		for _, d := range route[1:] {
			if d.Properties().Queue.Mode == model.QueueBackPressure {
				return nil, nil, fmt.Errorf("sim: path %v: only its first link can have a queue in back-pressure mode", path)
			}
		}
	}
	return forward, back, nil
}

func (n *network) link(name string) int {
	if i, ok := n.byName[name]; ok {
		return i
	}
	return -1
}

// storage gives room for the bytes of the packet that is made next.
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

func (n *network) recycle(p *packet) { n.free = append(n.free, p) }

// push sends a packet into the next direction of its route.
func (n *network) push(now time.Duration, p *packet) {
	d := p.route[0]
	p.route = p.route[1:]
	if d.unplugged {
		d.lost++
		n.recycle(p)
		return
	}
	n.tell(now, d, p, false)
	if !d.Push(p, len(p.bytes)+n.overhead, model.Time(now)) {
		n.recycle(p) // larger than the room that was asked for: a handshake with long ids
	}
	n.schedule(d)
}

// tell shows the observer a packet at an end of a direction.
func (n *network) tell(now time.Duration, d *direction, p *packet, arrived bool) {
	if n.frame != nil {
		n.frame(now, &Frame{d.index / 2, d.index%2 == 1, arrived, p.to.transfer, 1 - p.to.which, p.conn, p.bytes})
	}
}

// schedule notes when something next happens in a direction.
func (n *network) schedule(d *direction) {
	if at, ok := d.Next(); ok {
		n.agenda.set(d.index, time.Duration(at))
	} else {
		n.agenda.set(d.index, session.Never)
	}
}

// deliver moves all packets that are due, hop by hop: through the directions
// in their order, and through those again that a later one has passed a packet.
func (n *network) deliver(now time.Duration) {
	n.agenda.due(now, n.due)
	for len(n.due.numbers) > 0 {
		for i, ok := n.due.take(); ok; i, ok = n.due.take() {
			n.deliverFrom(n.directions[i], now)
		}
		n.due, n.again = n.again, n.due
	}
}

func (n *network) deliverFrom(d *direction, now time.Duration) {
	for {
		delivery, ok := d.Pop(model.Time(now))
		if !ok {
			break
		}
		p := delivery.Frame
		if d.unplugged {
			d.lost++
			n.recycle(p)
			continue
		}
		d.sent++
		d.sentBytes += uint64(delivery.Bytes)
		d.delaySum += int64(delivery.Due - delivery.Left)
		p.corrupt = p.corrupt || delivery.FlipBit >= 0
		if !p.corrupt {
			n.tell(now, d, p, true)
		}
		if len(p.route) == 0 {
			if p.corrupt {
				n.recycle(p) // as a host does by IP's or UDP's checksum, which tells every single bit
			} else {
				p.to.arrive(now, p)
			}
			continue
		}
		onward := p.route[0].index
		n.push(now, p)
		switch {
		case n.agenda.at[onward] > now:
		case onward > d.index:
			n.due.add(onward)
		case onward < d.index:
			n.again.add(onward)
		}
	}
	n.schedule(d)
	n.moved(d)
}

// moved says that a packet has left a direction. Transfers that wait for their
// queues alone have something to do only when this one is half empty.
func (n *network) moved(d *direction) {
	wakes := d.wakes()
	for _, t := range d.senders {
		if wakes || !t.stopped() {
			n.touched.add(t.index)
		}
	}
}

// touch says that a direction has changed, for whoever sends into it.
func (n *network) touch(d *direction) {
	for _, t := range d.senders {
		n.touched.add(t.index)
	}
}

// room reports whether a frame may be sent into a direction now: a pulled plug
// takes everything, and loses it.
func (d *direction) room() bool { return d.unplugged || d.Room() }

// wakes reports whether a sender that found no room goes on.
func (d *direction) wakes() bool { return d.unplugged || d.Wakes() }

// apply carries an event out on the directions of its link.
func (n *network) apply(now time.Duration, e *Event) {
	i := 2 * n.link(e.Link)
	for side, other := range [2]string{"ba", "ab"} {
		if e.Direction == other {
			continue
		}
		d := n.directions[i+side]
		if e.Set != nil {
			d.Set(model.Time(now), e.Set)
		}
		if e.Plug != nil {
			d.unplugged = !*e.Plug
		}
		n.schedule(d)
		n.touch(d)
	}
}

// states gives the state of every direction.
func (n *network) states(into []record.State) []record.State {
	into = into[:0]
	for _, d := range n.directions {
		counts := d.Counts()
		_, held := d.Held()
		into = append(into, record.State{
			Properties: d.Properties(), Counts: counts, Sent: d.sent, SentBytes: d.sentBytes, DelaySumNS: d.delaySum,
			HeldBytes: held, Drops: counts.QueueFull + counts.QueueDelayed + d.lost,
		})
	}
	return into
}
