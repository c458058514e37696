package sim

import (
	"fmt"
	"slices"
	"time"

	"ncp-testbed/ncp-agent/session"
)

// end is one end of a transfer: its session and the sockets' side of it.
type end struct {
	world    *world
	transfer int
	which    int // 0 sends
	session  *session.Session
	peer     *end
	routes   [][]*direction // per connection, from here
	held     [][]*packet    // per connection: arrived while its reader was paused
	pausedTo []time.Duration
	paused   time.Duration // the latest of these
	waiting  int           // packets in held
	stopped  []bool        // per connection: by a full queue, and not yet woken
}

// transfer is one session and its application.
type transfer struct {
	index   int // its number
	config  *Transfer
	sink    func([]byte)
	ends    [2]*end
	written int64
	part    []byte // of the payload, not yet written
	result  TransferResult
	started bool
	told    bool // that it is established
	over    bool // all is received and acknowledged
}

func (w *world) newTransfer(index int) (*transfer, error) {
	c := &w.run.Transfers[index]
	t := &transfer{index: index, config: c, sink: c.Sink}
	if t.sink == nil {
		t.sink = func([]byte) {}
	}
	if len(c.Paths) != len(c.Sender.ClientIDs) || len(c.Paths) != len(c.Receiver.ClientIDs) {
		return nil, fmt.Errorf("sim: %d paths for %d and %d connections", len(c.Paths), len(c.Sender.ClientIDs), len(c.Receiver.ClientIDs))
	}
	for i, cfg := range []session.Config{c.Sender, c.Receiver} {
		cfg.Buffers = w.buffersOf(cfg.MTUBytes)
		s, err := session.New(cfg)
		if err != nil {
			return nil, err
		}
		t.ends[i] = &end{
			world: w, transfer: index, which: i, session: s,
			held: make([][]*packet, len(c.Paths)), pausedTo: make([]time.Duration, len(c.Paths)),
			stopped: make([]bool, len(c.Paths)),
		}
	}
	t.ends[0].peer, t.ends[1].peer = t.ends[1], t.ends[0]
	for _, path := range c.Paths {
		forward, back, err := w.network.route(path)
		if err != nil {
			return nil, err
		}
		forward[0].senders = append(forward[0].senders, t)
		back[0].senders = append(back[0].senders, t)
		t.ends[0].routes = append(t.ends[0].routes, forward)
		t.ends[1].routes = append(t.ends[1].routes, back)
	}
	return t, nil
}

// buffersOf gives the storage that all sessions of an MTU share.
func (w *world) buffersOf(mtuBytes uint32) *session.Buffers {
	if w.buffers[mtuBytes] == nil {
		w.buffers[mtuBytes] = session.NewBuffers(mtuBytes)
	}
	return w.buffers[mtuBytes]
}

// advance lets readers whose pause is over go on, and sessions do what is due.
func (t *transfer) advance(now time.Duration) {
	for _, e := range t.ends {
		e.resume(now)
		if e.session.Deadline() <= now {
			e.session.Advance(now)
		}
	}
}

// step lets the applications write and read, and the sockets send.
func (t *transfer) step(w *world) {
	if !t.started {
		if w.now < t.config.Start {
			return
		}
		t.started = true
		t.ends[0].session.Dial(w.now)
	}
	from, to := t.ends[0].session, t.ends[1].session
	if !t.told && from.State() >= session.Established {
		t.told = true
		if w.run.Observer.Established != nil {
			w.run.Observer.Established(w.now, t.ends[0].transfer)
		}
	}
	for t.written < t.config.Bytes && from.Writable() {
		if len(t.part) == 0 {
			t.part = t.nextPart(w)
		}
		n := from.Write(w.now, t.part)
		t.part = t.part[n:]
		t.written += int64(n)
	}
	if to.Readable() {
		n, _ := to.ReadTo(w.now, t.sink)
		t.result.Received += int64(n)
	}
	if t.result.ReceivedAt == 0 && t.result.Received == t.config.Bytes {
		t.result.ReceivedAt = w.now
	}
	if t.result.AckedAt == 0 && t.written == t.config.Bytes && from.Unacknowledged() == 0 {
		t.result.AckedAt = w.now
	}
	for _, e := range t.ends {
		e.pump(w)
	}
}

// nextPart gives payload, at least a byte of it.
func (t *transfer) nextPart(w *world) []byte {
	if t.config.Source != nil {
		return t.config.Source()
	}
	return w.zeros[:min(int64(len(w.zeros)), t.config.Bytes-t.written)]
}

// stopped reports whether the sending end waits for full queues on all its
// connections. The other end has no data, so that only what it receives, or a
// deadline, makes it send.
func (t *transfer) stopped() bool { return !slices.Contains(t.ends[0].stopped, false) }

// next is when an end next wants to act by itself; not ok if that is now,
// though it has just acted.
func (t *transfer) next(now time.Duration) (time.Duration, bool) {
	if !t.started {
		return t.config.Start, true
	}
	next := session.Never
	for _, e := range t.ends {
		next = min(next, e.session.Deadline())
		if e.paused <= now {
			continue
		}
		for _, at := range e.pausedTo {
			if at > now {
				next = min(next, at)
			}
		}
	}
	return next, next > now
}

// pump lets every connection send while its first link takes packets.
func (e *end) pump(w *world) {
	for conn, route := range e.routes {
		if e.stopped[conn] && !route[0].wakes() {
			continue
		}
		e.stopped[conn] = false
		for {
			if !route[0].room() {
				e.stopped[conn] = true
				break
			}
			buf, ok := e.session.NextPacket(w.now, conn, w.network.storage())
			if !ok {
				break
			}
			e.session.Sent(w.now, conn, 1)
			if w.run.Observer.Packet != nil {
				w.run.Observer.Packet(w.now, e.transfer, e.which, conn, buf)
			}
			w.network.push(w.now, w.network.packet(buf, e.peer, conn, route))
		}
	}
}

// arrive takes a packet from the network.
func (e *end) arrive(now time.Duration, p *packet) {
	e.world.touched.add(e.transfer)
	if now < e.paused && now < e.pausedTo[p.conn] {
		limit := e.world.run.Transfers[e.transfer].ReceiveBufferPackets
		if limit > 0 && len(e.held[p.conn]) >= limit {
			e.world.network.recycle(p)
			return
		}
		e.held[p.conn] = append(e.held[p.conn], p)
		e.waiting++
		return
	}
	e.receive(now, p)
}

// receive gives a packet to the session; what it refuses is lost, as its
// counts tell.
func (e *end) receive(now time.Duration, p *packet) {
	_ = e.session.Receive(now, p.conn, p.bytes)
	e.world.network.recycle(p)
}

// pause stops the reader of a connection.
func (e *end) pause(conn int, until time.Duration) {
	e.pausedTo[conn] = until
	e.paused = max(e.paused, until)
}

// resume lets a reader whose pause is over take what has waited for it.
func (e *end) resume(now time.Duration) {
	if e.waiting == 0 {
		return
	}
	for conn, until := range e.pausedTo {
		if now < until || len(e.held[conn]) == 0 {
			continue
		}
		for _, p := range e.held[conn] {
			e.receive(now, p)
		}
		e.waiting -= len(e.held[conn])
		e.held[conn] = e.held[conn][:0]
	}
}
