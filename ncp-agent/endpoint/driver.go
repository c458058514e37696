// Package endpoint runs a session over UDP or TCP: one socket per connection,
// each with a goroutine that reads and one that writes, around one session
// behind one lock. Writes wait while the kernel's send buffer is full, so that
// a full link pushes back on the session.
package endpoint

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"ncp-testbed/internal/timing"
	"ncp-testbed/ncp-agent/session"
	"ncp-testbed/ncp-agent/wire"
)

// headroom is more than what NCP adds to a packet's data: for data two tags, a
// sequence and a length; a handshake's ids are short.
const headroom = wire.FrameSlack

// shutGrace is how long a closed session's TCP connections may take for what
// is under way: a close that meets unread data would reset them.
const shutGrace = time.Second

// dataHeader is what a full data packet has beside its data, with a sequence
// of three bytes as after the first 16383 packets.
const dataHeader = 7

// Driver runs one session. Its methods may be called from any goroutine.
type Driver struct {
	mu      sync.Mutex
	session *session.Session
	armed   time.Duration // when the timer will look

	start time.Time // time 0 of the session
	links []*link
	turns *session.Turns // of the links; under mu
	wg    sync.WaitGroup

	life     context.Context // ends with Close
	end      context.CancelFunc
	working  context.Context // ends with life, or with what fail is called with: the first socket that can't go on
	fail     context.CancelCauseFunc
	made     int           // sockets so far; under mu
	patience time.Duration // how long the session may be without any; under mu

	timer       chan struct{} // the deadline moved before armed
	readable    chan struct{}
	writable    chan struct{}
	progress    chan struct{} // acknowledgements came in
	established chan struct{} // closed when the handshake is done
	closed      chan struct{} // closed when the session is
}

// Open opens the endpoints of a session and starts to drive it; it answers the
// peer's handshake. It waits for local addresses that do not exist yet.
func Open(ctx context.Context, cfg session.Config, endpoints []Endpoint, waiting func(error)) (*Driver, error) {
	s, err := session.New(cfg)
	if err != nil {
		return nil, err
	}
	d := &Driver{
		session: s, start: time.Now(), patience: noConnection, armed: timing.Never,
		timer: make(chan struct{}, 1), readable: make(chan struct{}, 1), writable: make(chan struct{}, 1),
		progress: make(chan struct{}, 1), established: make(chan struct{}), closed: make(chan struct{}),
	}
	d.life, d.end = context.WithCancel(context.WithoutCancel(ctx))
	d.working, d.fail = context.WithCancelCause(d.life)
	var queues []int
	for i, e := range endpoints {
		queues = append(queues, e.SendBufferPackets)
		packet := sizes{full: int(cfg.MTUBytes) + dataHeader, largest: int(cfg.MTUBytes) + headroom}
		if err := d.openLink(ctx, i, e, packet, waiting); err != nil {
			d.closeSockets()
			return nil, fmt.Errorf("connection %d, %s: %w", i+1, cfg.ClientIDs[i], err)
		}
	}
	d.turns = session.NewTurns(queues)
	d.wg.Add(1 + 2*len(d.links))
	go d.runTimer()
	for _, l := range d.links {
		go d.readLoop(l)
		go d.writeLoop(l)
	}
	return d, nil
}

// openLink opens one connection; one that waits for its peer counts as broken
// until that has connected.
func (d *Driver) openLink(ctx context.Context, index int, e Endpoint, packet sizes, waiting func(error)) error {
	o, err := newOpener(ctx, e, packet, waiting)
	if err != nil {
		return err
	}
	l := newLink(index, o, packet.largest)
	d.links = append(d.links, l)
	if o.waits() {
		d.session.Break(d.now(), index)
		return nil
	}
	s, err := o.open(ctx, waiting)
	if err != nil {
		return err
	}
	d.attach(l, s)
	return nil
}

// Start returns time 0 of the session; its monotonic reading maps the session's
// times to the wall clock, once for all.
func (d *Driver) Start() time.Time { return d.start }

func (d *Driver) now() time.Duration { return time.Since(d.start) }

// Warnings returns what the kernel did not grant.
func (d *Driver) Warnings() []string {
	var all []string
	for _, l := range d.links {
		s := d.socketOf(l)
		if s == nil {
			continue
		}
		for _, w := range s.warnings() {
			all = append(all, fmt.Sprintf("connection %d: %s", l.index+1, w))
		}
	}
	return all
}

// Stats copies the session's numbers; the lock is held for that only.
func (d *Driver) Stats(into *session.Stats) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.session.ReadStats(into)
}

// Established is closed when the handshake is done.
func (d *Driver) Established() <-chan struct{} { return d.established }

// Closed is closed when either end has closed the session.
func (d *Driver) Closed() <-chan struct{} { return d.closed }

// Working returns a context that ends when a socket can't go on, with the reason as its cause, or with Close.
func (d *Driver) Working() context.Context { return d.working }

// Dial starts the handshake.
func (d *Driver) Dial() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.session.Dial(d.now())
	d.notify()
}

// Write hands b to the session, waiting for room, and returns how many bytes it
// took: all, or fewer with an error, as of a context that ended.
func (d *Driver) Write(ctx context.Context, b []byte) (taken int, err error) {
	for {
		d.mu.Lock()
		n := d.session.Write(d.now(), b)
		state := d.session.State()
		d.notify()
		d.mu.Unlock()
		taken += n
		if b = b[n:]; len(b) == 0 {
			return taken, nil
		}
		if state > session.Established {
			return taken, session.ErrClosed
		}
		if err := d.wait(ctx, d.writable); err != nil {
			return taken, err
		}
	}
}

// Read reads what there is into b, waiting for at least one byte. At the end
// it returns io.EOF if the peer closed the session.
func (d *Driver) Read(ctx context.Context, b []byte) (int, error) {
	return d.read(ctx, b, d.session.Read)
}

// read waits until the session has something to read, or its end.
func (d *Driver) read(ctx context.Context, b []byte, from func(time.Duration, []byte) (int, error)) (int, error) {
	for {
		d.mu.Lock()
		n, err := from(d.now(), b)
		d.notify()
		d.mu.Unlock()
		if n > 0 || err != nil {
			return n, err
		}
		if err := d.wait(ctx, d.readable); err != nil {
			return 0, err
		}
	}
}

// Drain waits until all that was written is acknowledged.
func (d *Driver) Drain(ctx context.Context) error {
	for {
		d.mu.Lock()
		left := d.session.Unacknowledged()
		state := d.session.State()
		d.mu.Unlock()
		if left == 0 {
			return nil
		}
		if state == session.Closed {
			return io.ErrUnexpectedEOF
		}
		if err := d.wait(ctx, d.progress); err != nil {
			return err
		}
	}
}

func (d *Driver) wait(ctx context.Context, signal <-chan struct{}) error {
	select {
	case <-signal:
		return nil
	case <-d.working.Done():
		return context.Cause(d.working)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Close closes the session, waits until the close has been sent, at most for
// the session's linger and a little more, and closes the sockets.
func (d *Driver) Close(ctx context.Context) {
	d.mu.Lock()
	d.session.Close(d.now())
	d.notify()
	d.mu.Unlock()
	grace := shutGrace
	select {
	case <-d.closed:
	case <-ctx.Done():
		grace = 0
	}
	d.end()
	for _, l := range d.links {
		if s := d.socketOf(l); s != nil {
			s.shut(grace)
		}
	}
	d.wg.Wait()
	d.closeSockets()
}

func (d *Driver) closeSockets() {
	d.end()
	for _, l := range d.links {
		l.opener.close()
		if l.socket != nil {
			l.socket.close()
		}
	}
}

// notify wakes the goroutines that a change concerns. The lock is held.
func (d *Driver) notify() {
	now := d.now()
	for _, index := range d.turns.Order() {
		if l := d.links[index]; l.idle && d.session.Ready(now, index) {
			l.idle = false
			d.turns.Ask(index)
		}
	}
	d.wakeNext()
	if d.session.Deadline() < d.armed {
		wake(d.timer)
	}
	if d.session.Readable() {
		wake(d.readable)
	}
	if d.session.Writable() {
		wake(d.writable)
	}
	wake(d.progress)
	switch state := d.session.State(); {
	case state == session.Closed:
		closeOnce(d.closed)
		wake(d.writable)
		fallthrough
	case state >= session.Established:
		closeOnce(d.established)
	}
}

func wake(signal chan struct{}) {
	select {
	case signal <- struct{}{}:
	default:
	}
}

// closeOnce closes a channel that only notify closes.
func closeOnce(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}

// runTimer calls Advance when the session's deadline has come.
func (d *Driver) runTimer() {
	defer d.wg.Done()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		d.mu.Lock()
		now := d.now()
		if d.session.Deadline() <= now {
			d.session.Advance(now)
		}
		// Whatever the deadline says now: it leaves out what another call has
		// seen to be due, and that call may have woken nobody.
		d.notify()
		d.armed = d.session.Deadline()
		wait := d.armed - now
		d.mu.Unlock()
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-d.timer:
		case <-d.life.Done():
			return
		}
	}
}

func (d *Driver) stopping() bool { return d.life.Err() != nil }
