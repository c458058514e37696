package relay

import (
	"encoding/binary"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ncp-testbed/link/model"
)

// Tokens of the poller's descriptors; ports have their index.
const (
	timerToken = -1
	wakeToken  = -2
)

// maxReads bounds the batches read from one port before the others, and the frames that are due, have a turn.
const maxReads = 4

// loop is the one thread that moves frames.
type loop struct {
	ports      []*port
	directions []*direction
	pool       *pool
	rx, tx     *messages

	epoll, timer, wake int
	armed              model.Time

	// Model time is nanoseconds since base, by the monotonic clock; monotonicBase is base on CLOCK_MONOTONIC.
	base          time.Time
	monotonicBase int64

	mu       sync.Mutex
	commands []func()
	stopping bool
	stopped  chan struct{}
	warn     func(format string, arguments ...any)
}

func newLoop(warn func(string, ...any)) (*loop, error) {
	l := &loop{rx: newMessages(), tx: newMessages(), stopped: make(chan struct{}), armed: never, warn: warn}
	l.base = time.Now()
	var monotonic unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &monotonic); err != nil {
		return nil, err
	}
	l.monotonicBase = monotonic.Nano() - int64(time.Since(l.base))
	var err error
	if l.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, err
	}
	if l.timer, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC); err != nil {
		return nil, err
	}
	if l.wake, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC); err != nil {
		return nil, err
	}
	// Edge-triggered: the timer need not be read, setting it anew is enough.
	if err := l.watch(l.timer, timerToken, unix.EPOLLIN|unix.EPOLLET); err != nil {
		return nil, err
	}
	return l, l.watch(l.wake, wakeToken, unix.EPOLLIN)
}

func (l *loop) watch(fd, token int, events uint32) error {
	return unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: events, Fd: int32(token)})
}

func (l *loop) now() model.Time { return int64(time.Since(l.base)) }

// clocks are model time and Unix time at one moment.
func (l *loop) clocks() (now model.Time, wallNS int64) {
	t := time.Now()
	return int64(t.Sub(l.base)), t.UnixNano()
}

// wall is a model time as Unix time, by the offset between the clocks now.
func (l *loop) wall(at model.Time) int64 {
	now, wallNS := l.clocks()
	return wallNS + at - now
}

// do runs a function on the loop's thread, between frames; false if the loop has ended.
func (l *loop) do(f func()) bool {
	done := make(chan struct{})
	l.mu.Lock()
	l.commands = append(l.commands, func() { f(); close(done) })
	l.mu.Unlock()
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	_, _ = unix.Write(l.wake, one[:])
	select {
	case <-done:
		return true
	case <-l.stopped:
		return false
	}
}

// run moves frames until a command sets stopping. The calling goroutine must be locked to its thread.
func (l *loop) run() error {
	defer close(l.stopped)
	events := make([]unix.EpollEvent, len(l.ports)+2)
	for !l.stopping {
		n, err := unix.EpollWait(l.epoll, events, l.timeout())
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		// All that arrived before this moment is read below, so changes up to it are in order with frames.
		read := l.now()
		for _, event := range events[:n] {
			switch event.Fd {
			case timerToken:
				l.armed = never
			case wakeToken:
				l.runCommands()
			default:
				l.read(l.ports[event.Fd])
			}
		}
		for _, d := range l.directions {
			if len(d.pending) > 0 && d.pending[0].at <= read {
				d.applyUntil(read, l.now(), l.wall)
				d.refresh()
			}
		}
		l.forward()
	}
	runtime.KeepAlive(l)
	return nil
}

// timeout arms the timer for the next deadline and returns what to tell epoll: -1, or 0 if it has passed.
func (l *loop) timeout() int {
	next := never
	for _, d := range l.directions {
		next = min(next, d.next)
		if len(d.pending) > 0 {
			next = min(next, d.pending[0].at)
		}
	}
	if next == never {
		return -1
	}
	if next <= l.now() {
		return 0
	}
	if next != l.armed {
		spec := unix.ItimerSpec{Value: unix.NsecToTimespec(l.monotonicBase + next)}
		if err := unix.TimerfdSettime(l.timer, unix.TFD_TIMER_ABSTIME, &spec, nil); err != nil {
			return 1 // milliseconds: late, but never stuck
		}
		l.armed = next
	}
	return -1
}

func (l *loop) runCommands() {
	var count [8]byte
	_, _ = unix.Read(l.wake, count[:])
	l.mu.Lock()
	commands := l.commands
	l.commands = nil
	l.mu.Unlock()
	for _, command := range commands {
		command()
	}
}

// read takes what has arrived at a port.
func (l *loop) read(p *port) {
	for range maxReads {
		n := l.rx.prepare(l.pool)
		scarce := n == 0
		if scarce {
			l.discard(p)
			return
		}
		got, errno := l.rx.receive(p.fd, n)
		if errno == unix.ENETDOWN {
			continue // reported once, when the interface goes down; frames come again when it is up
		}
		if errno != 0 {
			return
		}
		now, wallNS := l.clocks()
		for i := range got {
			l.accept(p.arriving, i, now, wallNS)
		}
		p.arriving.refresh()
		if got < n {
			return
		}
	}
}

// discard drops a frame that there is no memory for.
func (l *loop) discard(p *port) {
	var scratch [64]byte
	for {
		if _, _, err := unix.Recvfrom(p.fd, scratch[:], unix.MSG_DONTWAIT|unix.MSG_TRUNC); err != nil {
			return
		}
		if p.arriving.unasked.NoBuffer++; p.arriving.unasked.NoBuffer == 1 {
			l.warn("link %s %s: more than %d frames held, dropping", p.arriving.link, p.arriving.name, poolFrames)
		}
	}
}

// accept hands message i of a receive to the model.
func (l *loop) accept(d *direction, i int, now model.Time, wallNS int64) {
	buffer := l.rx.buffers[i]
	length := int(l.rx.headers[i].length)
	if length > l.pool.stride-headroom || length > d.to.mtu+maxHeaderBytes {
		if d.unasked.Oversize++; d.unasked.Oversize == 1 {
			l.warn("link %s %s: a frame of %d bytes for an MTU of %d: turn segmentation offload off at the host "+
				"(ethtool -K INTERFACE tx off gso off tso off)", d.link, d.name, length, d.to.mtu)
		}
		return // the buffer stays with the message
	}
	l.rx.buffers[i] = -1
	l.pool.start[buffer], l.pool.length[buffer] = headroom, uint16(length)
	info := l.rx.details(i)
	if info.checksumUnfinished {
		if d.checksums++; d.checksums == 1 {
			l.warn("link %s %s: the host leaves checksums to its device; completing them", d.link, d.name)
		}
		finishChecksum(l.pool.frame(buffer))
	}
	if info.vlan {
		l.pool.insertVLAN(buffer, info.vlanTPID, info.vlanTCI)
	}
	arrival := now
	if info.wallNS != 0 {
		// A clock that was set in between must not send a frame to the past or the future.
		arrival = min(now, max(now-nsPerS, now+info.wallNS-wallNS))
	}
	if len(d.pending) > 0 {
		d.applyUntil(arrival, now, l.wall)
	}
	if !d.model.Push(buffer, int(l.pool.length[buffer]), arrival) {
		d.unasked.NoBuffer++ // back-pressure cannot reach across an Ethernet link
		l.pool.give(buffer)
	}
}

const nsPerS = 1_000_000_000

// forward sends all frames that are due.
func (l *loop) forward() {
	for {
		now := l.now()
		busy := false
		for _, d := range l.directions {
			if d.next > now {
				continue
			}
			for len(d.to.outgoing) < batch {
				delivery, ok := d.model.Pop(now)
				if !ok {
					break
				}
				if delivery.FlipBit >= 0 {
					l.pool.frame(delivery.Frame)[delivery.FlipBit/8] ^= 1 << (delivery.FlipBit % 8)
				}
				d.to.outgoing = append(d.to.outgoing, delivery.Frame)
				d.to.due = append(d.to.due, delivery.Due)
				d.to.arrivals = append(d.to.arrivals, delivery.Arrival)
			}
			busy = busy || len(d.to.outgoing) == batch
			l.send(d)
			d.refresh()
		}
		if !busy {
			return
		}
	}
}

// send gives the collected frames of a direction to the interface towards the host.
func (l *loop) send(d *direction) {
	p := d.to
	for first := 0; first < len(p.outgoing); {
		sent, errno := l.tx.send(p.fd, l.pool, p.outgoing[first:])
		at := l.now()
		for i := first; i < first+sent; i++ {
			d.sent++
			d.sentBytes += uint64(l.pool.length[p.outgoing[i]])
			d.delaySumNS += at - p.arrivals[i]
			d.lateness.add(at - p.due[i])
		}
		first += sent
		if errno != 0 {
			if d.unasked.Send++; d.unasked.Send == 1 {
				l.warn("link %s %s: interface %s refuses a frame of %d bytes: %v",
					d.link, d.name, p.name, l.pool.length[p.outgoing[first]], errno)
			}
			first++
		}
	}
	for _, buffer := range p.outgoing {
		l.pool.give(buffer)
	}
	p.outgoing, p.due, p.arrivals = p.outgoing[:0], p.due[:0], p.arrivals[:0]
}
