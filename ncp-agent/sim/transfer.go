package sim

import (
	"slices"
	"time"

	"ncp-testbed/internal/timing"
	"ncp-testbed/ncp-agent/session"
)

// end is one end of a transfer: its session and the sockets' side of it.
type end struct {
	part     *part
	transfer *transfer
	which    int // 0 sends
	session  *session.Session
	peer     *end
	routes   [][]*direction // per connection, from here
	held     [][]*packet    // per connection: arrived while its reader was paused
	pausedTo []time.Duration
	paused   time.Duration // the latest of these
	waiting  int           // packets in held
	turns    *session.Turns
	hand     [][]*packet   // per connection: taken from the session, not yet by its first link
	stopped  []bool        // per connection: what it has in hand waits for a full queue
	deadline time.Duration // the session's, unless it is stale
	stale    bool          // something was done with the session since then
	dirty    bool          // something was, since no connection had anything to send
}

// transfer is one session and its application.
type transfer struct {
	number    int // in the run
	place     int // in its part; there in the same order
	config    *Transfer
	sink      func([]byte)
	ends      [2]*end
	written   int64
	part      []byte // of the payload, not yet written
	result    TransferResult
	started   bool
	announced bool // that it is established
	over      bool // all is received and acknowledged
}

// newTransfer makes a transfer of a part, whose directions are there.
func (p *part) newTransfer(number int, routes []route, directions []*direction) (*transfer, error) {
	c := &p.run.Transfers[number]
	t := &transfer{number: number, place: len(p.transfers), config: c, sink: c.Sink}
	if t.sink == nil {
		t.sink = func([]byte) {}
	}
	for i, cfg := range []session.Config{c.Sender, c.Receiver} {
		cfg.Buffers = p.buffersOf(cfg.MTUBytes, c.Source == nil)
		s, err := session.New(cfg)
		if err != nil {
			return nil, err
		}
		t.ends[i] = &end{
			part: p, transfer: t, which: i, session: s,
			held: make([][]*packet, len(routes)), pausedTo: make([]time.Duration, len(routes)),
			hand: make([][]*packet, len(routes)), stopped: make([]bool, len(routes)), deadline: timing.Never,
		}
	}
	var queues [2][]int // packets, of each end's first links
	t.ends[0].peer, t.ends[1].peer = t.ends[1], t.ends[0]
	for _, r := range routes {
		for i, way := range [][]int{r.forward, r.back} {
			var crossed []*direction
			for _, d := range way {
				crossed = append(crossed, directions[d])
			}
			crossed[0].senders = append(crossed[0].senders, t)
			t.ends[i].routes = append(t.ends[i].routes, crossed)
			queues[i] = append(queues[i], p.run.properties(way[0]).Queue.Packets)
		}
	}
	for i, e := range t.ends {
		e.turns = session.NewTurns(queues[i])
	}
	return t, nil
}

// storage is what sessions can share: that of packets of an MTU, of a payload
// that is zeros or not.
type storage struct {
	mtuBytes uint32
	zeros    bool
}

// buffersOf returns the storage that such sessions of a part share.
func (p *part) buffersOf(mtuBytes uint32, zeros bool) *session.Buffers {
	of := storage{mtuBytes, zeros}
	if p.buffers[of] == nil {
		p.buffers[of] = session.NewBuffers(mtuBytes)
		if zeros {
			p.buffers[of] = session.NewZeroBuffers(mtuBytes)
		}
	}
	return p.buffers[of]
}

// advance lets readers whose pause is over go on, and sessions do what is due.
func (t *transfer) advance(now time.Duration) {
	for _, e := range t.ends {
		e.resume(now)
		if e.due() <= now {
			e.session.Advance(now)
			e.markDirty()
		}
	}
}

// markDirty says that something was done with an end's session. Without that it has
// the same deadline as before and, if it only receives, nothing to send.
func (e *end) markDirty() { e.stale, e.dirty = true, true }

// due is the session's deadline.
func (e *end) due() time.Duration {
	if e.stale {
		e.deadline, e.stale = e.session.Deadline(), false
	}
	return e.deadline
}

// step lets the applications write and read, and the sockets send.
func (t *transfer) step(p *part, now time.Duration) {
	if !t.started {
		if now < t.config.Start {
			return
		}
		t.started = true
		t.ends[0].session.Dial(now)
	}
	from, to := t.ends[0].session, t.ends[1].session
	if !t.announced && from.State() >= session.Established {
		t.announced = true
		p.notices = append(p.notices, notice{now, established, t.number})
	}
	t.write(p, now)
	if t.ends[1].dirty && to.Readable() {
		n, _ := to.ReadTo(now, t.sink)
		t.result.Received += int64(n)
		t.ends[1].markDirty()
	}
	if t.result.ReceivedAt == 0 && t.result.Received == t.config.Bytes {
		t.result.ReceivedAt = now
	}
	if t.result.AckedAt == 0 && t.written == t.config.Bytes && from.Unacknowledged() == 0 {
		t.result.AckedAt = now
	}
	t.ends[0].markDirty() // it may have something to send now for no other reason than the time
	for _, e := range t.ends {
		e.pump(p, now)
	}
}

// write lets the application write what the session takes.
func (t *transfer) write(p *part, now time.Duration) {
	from := t.ends[0].session
	for t.written < t.config.Bytes && from.Writable() {
		if len(t.part) == 0 {
			t.part = t.nextPart(p)
		}
		n := from.Write(now, t.part)
		t.part = t.part[n:]
		t.written += int64(n)
	}
}

// nextPart returns payload, at least a byte of it.
func (t *transfer) nextPart(p *part) []byte {
	if t.config.Source != nil {
		return t.config.Source()
	}
	return p.zeros[:min(int64(len(p.zeros)), t.config.Bytes-t.written)]
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
	next := timing.Never
	for _, e := range t.ends {
		next = min(next, e.due())
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

// pump lets connections send in turn. One that a full queue has stopped comes
// when that is half empty, after the others and by itself: a host's writer goes
// on until its socket is full again.
func (e *end) pump(p *part, now time.Duration) {
	active := e.dirty
	e.stale, e.dirty = e.stale || active, false
	if active {
		e.takeTurns(p, now)
	}
	for conn, route := range e.routes {
		if e.stopped[conn] && route[0].wakes() {
			e.stale = true
			e.transmit(p, now, conn)
			e.takeTurns(p, now)
		}
	}
}

// takeTurns lets the connections that are not stopped send, until none has anything to send.
func (e *end) takeTurns(p *part, now time.Duration) {
	for again := true; again; {
		for _, conn := range e.turns.Order() {
			if !e.stopped[conn] {
				e.turns.Ask(conn)
			}
		}
		again = false
		for conn, ok := e.turns.Next(); ok && !again; conn, ok = e.turns.Next() {
			again = e.takeTurn(p, now, conn)
		}
		if again && e.which == 0 {
			e.transfer.write(p, now)
		}
	}
}

// takeTurn lets a connection take its turn's packets, and reports whether there were any.
func (e *end) takeTurn(p *part, now time.Duration, conn int) bool {
	taken := 0
	for n := e.turns.Packets(); taken < n; taken++ {
		buf, ok := e.session.NextPacket(now, conn, p.network.storage())
		if !ok {
			break
		}
		if p.run.Observer.Packet != nil {
			p.run.Observer.Packet(now, e.transfer.number, e.which, conn, buf)
		}
		e.routes[conn][0].inHandBytes += len(buf) + p.network.overhead
		e.hand[conn] = append(e.hand[conn], p.network.packet(buf, e.peer, conn, e.routes[conn]))
	}
	e.turns.End(taken)
	if taken == 0 {
		return false
	}
	e.transmit(p, now, conn)
	e.turns.Sent(conn, !e.stopped[conn])
	return true
}

// transmit sends what a connection has in hand, as far as its first link takes it; the rest waits for that.
func (e *end) transmit(p *part, now time.Duration, conn int) {
	sent, first := 0, e.routes[conn][0]
	for sent < len(e.hand[conn]) && first.room() {
		first.inHandBytes -= len(e.hand[conn][sent].bytes) + p.network.overhead
		p.network.push(now, e.hand[conn][sent])
		sent++
	}
	e.session.Sent(now, conn, sent)
	e.hand[conn] = slices.Delete(e.hand[conn], 0, sent)
	e.stopped[conn] = len(e.hand[conn]) > 0
}

// arrive takes a packet from the network.
func (e *end) arrive(now time.Duration, p *packet) {
	e.part.touched.add(e.transfer.place)
	if now < e.paused && now < e.pausedTo[p.conn] {
		limit := e.transfer.config.ReceiveBufferPackets
		if limit > 0 && len(e.held[p.conn]) >= limit {
			e.part.network.recycle(p)
			return
		}
		e.held[p.conn] = append(e.held[p.conn], p)
		e.waiting++
		return
	}
	e.receive(now, p)
}

// receive hands a packet to the session; what it refuses is lost, as its
// counts tell.
func (e *end) receive(now time.Duration, p *packet) {
	_ = e.session.Receive(now, p.conn, p.bytes)
	e.markDirty()
	e.part.network.recycle(p)
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
