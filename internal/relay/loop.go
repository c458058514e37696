package relay

import (
	"encoding/binary"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ncp-testbed/internal/timing"
)

const nsPerS = 1_000_000_000

// maxReads bounds the frames that are read before those that are due have a turn.
const maxReads = 256

// loop is the one thread that moves frames.
type loop struct {
	directions []*direction
	next       []time.Duration // of each direction, beside each other to be looked through at every turn
	nextChange time.Duration   // of all that are scheduled
	arriving   []int32         // the direction of frames that arrive, by interface index; -1: none

	receiver *receiver
	sender   *sender
	pool     *pool
	waiter   *waiter
	// Of links with whole segments, if there are any.
	segments      *segments
	segmentSender *sender

	clock         clock
	monotonicBase time.Duration // model time 0 on CLOCK_MONOTONIC

	mu       sync.Mutex
	commands []func()
	stopping bool
	broken   error // why it stops
	stopped  chan struct{}
	warn     func(format string, arguments ...any)
}

func newLoop(warn func(string, ...any)) (*loop, error) {
	l := &loop{stopped: make(chan struct{}), nextChange: timing.Never, warn: warn, clock: newClock(time.Now())}
	var monotonic unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &monotonic); err != nil {
		return nil, err
	}
	l.monotonicBase = time.Duration(monotonic.Nano()) - l.clock.now()
	return l, nil
}

// do runs a function on the loop's thread, between frames; false if the loop has ended.
func (l *loop) do(f func()) bool {
	select {
	case <-l.stopped:
		return false
	default:
	}
	done := make(chan struct{})
	l.mu.Lock()
	l.commands = append(l.commands, func() { f(); close(done) })
	l.mu.Unlock()
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	_, _ = unix.Write(l.waiter.wake, one[:])
	return l.await(done)
}

// await reports whether what closes done came to be carried out before the loop ended.
func (l *loop) await(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-l.stopped:
	}
	select { // as the last command it was, and the loop ended at once
	case <-done:
		return true
	default:
		return false
	}
}

// run moves frames until a command sets stopping. The calling goroutine must be locked to its thread.
func (l *loop) run() error {
	defer close(l.stopped)
	frames, sent := 0, 0
	for !l.stopping {
		commanded, err := l.waiter.wait(l.clock.now(), l.deadline(), frames, sent)
		if err != nil {
			return err
		}
		if commanded {
			l.runCommands()
		}
		// All that arrived before this moment is read below, so changes up to it are in order with frames.
		begun := l.clock.now()
		frames = l.read()
		if frames < maxReads && l.nextChange <= begun {
			l.applyChanges(begun)
		}
		sent = l.forward()
	}
	return l.broken
}

// deadline is when something next is to be done.
func (l *loop) deadline() time.Duration {
	next := l.nextChange
	for _, at := range l.next {
		next = min(next, at)
	}
	return next
}

// changed follows a change of any direction's properties.
func (l *loop) changed() {
	shortest := maxNap
	for i, d := range l.directions {
		l.next[i] = d.next()
		p := d.model.Properties()
		shortest = min(shortest, p.MinDelay())
	}
	l.waiter.nap = shortest / 2
}

func (l *loop) runCommands() {
	var count [8]byte
	_, _ = unix.Read(l.waiter.wake, count[:])
	l.mu.Lock()
	commands := l.commands
	l.commands = nil
	l.mu.Unlock()
	for _, command := range commands {
		command()
	}
}

// applyChanges applies what is scheduled up to a time.
func (l *loop) applyChanges(until time.Duration) {
	at := l.clock.read()
	l.nextChange = timing.Never
	for _, d := range l.directions {
		d.applyUntil(until, at.wall)
		if len(d.pending) > 0 {
			l.nextChange = min(l.nextChange, d.pending[0].at)
		}
	}
	l.changed()
}

// read takes what has arrived, at most maxReads of each kind, and returns how many; of the kind with more.
func (l *loop) read() int {
	at := l.clock.read()
	var frame arrived
	n := 0
	for ; n < maxReads && l.receiver.take(&frame); n++ {
		if i := l.arriving[frame.ifindex]; i >= 0 {
			l.accept(l.directions[i], &frame, &at)
			l.next[i] = l.directions[i].next()
		}
		l.receiver.release()
	}
	if l.segments == nil {
		return n
	}
	whole := 0
	for ; whole < maxReads; whole++ {
		buffer, ok := l.segments.take(&frame)
		if !ok {
			break
		}
		if i := l.arriving[frame.ifindex]; i >= 0 {
			l.acceptSegment(l.directions[i], buffer, &frame, &at)
			l.next[i] = l.directions[i].next()
		}
	}
	return max(n, whole)
}

// accept hands a frame to the model, with the reading of the clock at its arrival.
func (l *loop) accept(d *direction, frame *arrived, at *reading) {
	if !frame.fits(d.to.MTU) {
		l.oversize(d, frame)
		return
	}
	buffer := d.pool.take()
	if buffer < 0 {
		l.noBuffer(d)
		return
	}
	if frame.vlan {
		d.pool.storeTagged(buffer, frame.bytes, frame.vlanTPID, frame.vlanTCI)
	} else {
		d.pool.store(buffer, frame.bytes)
	}
	if frame.checksumUnfinished {
		if d.checksums++; d.checksums == 1 {
			l.warn("link %s %s: the host leaves checksums to its device; completing them", d.link, d.name)
		}
		finishChecksum(d.pool.frame(buffer))
	}
	arrival := l.clock.arrival(frame.wall, at)
	if len(d.pending) > 0 {
		d.applyUntil(arrival, at.wall)
	}
	d.push(buffer, arrival)
}

// acceptSegment hands a frame of a link with whole segments to the model, in the buffer that it came in; what counts
// frames gets a segment's frames one by one.
func (l *loop) acceptSegment(d *direction, buffer int32, frame *arrived, at *reading) {
	arrival := l.clock.arrival(frame.wall, at)
	if len(d.pending) > 0 {
		d.applyUntil(arrival, at.wall)
	}
	raw := d.pool.packet(buffer)[:vnetHeaderBytes]
	header, ip := readVnetHeader(raw), ethernetBytes
	limit := d.to.MTU
	if header.isGSO() {
		limit = segmentBytes
	}
	if !frame.fits(limit) {
		l.oversize(d, frame)
		return
	}
	if frame.vlan {
		d.pool.tag(buffer, frame.vlanTPID, frame.vlanTCI)
		shiftOffsets(raw, vlanBytes)
		header, ip = readVnetHeader(raw), ip+vlanBytes
	}
	if header.isGSO() && d.model.PerFrame() {
		l.acceptCut(d, d.pool.frame(buffer), &header, ip, arrival)
		return
	}
	if !l.segments.takeOver() {
		l.noBuffer(d)
		return
	}
	if d.model.PerFrame() {
		header.finish(d.pool.frame(buffer))
		clear(raw)
	}
	d.push(buffer, arrival)
}

// acceptCut hands a segment to the model frame by frame, as they would have come from a host without offload.
func (l *loop) acceptCut(d *direction, segment []byte, header *vnetHeader, ip int, arrival time.Duration) {
	frames, headers := header.frames(segment, ip)
	if frames == 0 || headers+header.size > d.to.MTU+maxHeaderBytes {
		l.oversize(d, &arrived{length: len(segment)})
		return
	}
	for number := range frames {
		buffer := d.pool.take()
		if buffer < 0 {
			l.noBuffer(d)
			continue
		}
		d.pool.length[buffer] = uint32(header.bytesOf(number, frames, headers, len(segment)))
		clear(d.pool.packet(buffer)[:vnetHeaderBytes])
		header.cut(d.pool.frame(buffer), segment, ip, number, frames, headers)
		d.push(buffer, arrival)
	}
}

func (l *loop) oversize(d *direction, frame *arrived) {
	if d.faults.Oversize++; d.faults.Oversize == 1 {
		l.warn("link %s %s: a frame of %d bytes for an MTU of %d: turn segmentation offload off at the host "+
			"(ethtool -K INTERFACE tx off gso off tso off)", d.link, d.name, frame.taggedLength(), d.to.MTU)
	}
}

func (l *loop) noBuffer(d *direction) {
	if d.faults.NoBuffer++; d.faults.NoBuffer == 1 {
		l.warn("link %s %s: more than %d frames held, dropping", d.link, d.name, len(d.pool.length))
	}
}

// forward sends all frames that are due, and returns how many.
func (l *loop) forward() (sent int) {
	now := l.clock.now()
	for i, at := range l.next {
		if at > now {
			continue
		}
		d := l.directions[i]
		for {
			delivery, ok := d.model.Pop(now)
			if !ok {
				break
			}
			if delivery.FlipBit >= 0 {
				d.pool.frame(delivery.Frame)[delivery.FlipBit/8] ^= 1 << (delivery.FlipBit % 8)
			}
			sent++
			d.sender.add(departure{d, delivery.Frame, delivery.Arrival, delivery.Due}, d.pool.packet(delivery.Frame))
			if d.sender.full() {
				l.flush(d.sender)
			}
		}
		l.next[i] = d.next()
	}
	l.flush(l.sender)
	if l.segmentSender != nil {
		l.flush(l.segmentSender)
	}
	return sent
}

// flush sends a batch.
func (l *loop) flush(s *sender) {
	for first := 0; first < s.count; {
		sent, errno := s.send(first)
		at := l.clock.now()
		for _, f := range s.frames[first : first+sent] {
			d := f.direction
			d.sent++
			d.sentBytes += uint64(d.pool.length[f.buffer])
			d.delaySum += at - f.arrival
			d.lateness.add(at - f.due)
		}
		first += sent
		if errno != 0 {
			f := s.frames[first]
			l.refused(f.direction, int(f.direction.pool.length[f.buffer]), errno)
			first++
		}
	}
	for _, f := range s.frames[:s.count] {
		f.direction.pool.give(f.buffer)
	}
	s.count = 0
}

// refused accounts for a frame that an interface did not take.
func (l *loop) refused(d *direction, bytes int, errno unix.Errno) {
	switch errno {
	case unix.ENETDOWN, unix.ENXIO, unix.ENOBUFS: // down, gone, or without carrier: a veth pair has no queue to be full
		if d.down++; d.down == 1 {
			l.warn("link %s %s: interface %s is down", d.link, d.name, d.to.Name)
		}
	default:
		if d.faults.Send++; d.faults.Send == 1 {
			l.warn("link %s %s: interface %s refuses a frame of %d bytes: %v", d.link, d.name, d.to.Name, bytes, errno)
		}
	}
}
