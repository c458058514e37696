package linkmodel

import (
	"reflect"
	"time"
)

// Cause is why the model dropped a frame.
type Cause int

// The causes of drops.
const (
	Lost         Cause = iota // by the configured loss
	QueueFull                 // drop-tail or drop-head
	QueueDelayed              // CoDel
)

// Delivery is a frame that reached the far end.
type Delivery[T any] struct {
	Frame   T
	Bytes   int
	Arrival time.Duration // as given to Push
	Due     time.Duration // when it reaches the far end
	Left    time.Duration // when it left the queue
	FlipBit int           // the bit of the frame that arrives flipped, counted from the frame's first; -1: none
}

// Hooks are the caller's side of frames that do not simply pass.
type Hooks[T any] struct {
	// Drop takes back a frame that will not be delivered.
	Drop func(T, Cause)
	// Copy makes the second of a duplicated frame; false if it cannot.
	Copy func(T) (T, bool)
	// Enter, unless nil, sees each frame as it enters the line, where nothing changes any more what becomes of it.
	// It may put another handle into its place, which Pop then returns.
	Enter func(*Delivery[T])
}

// Counts are cumulative. In + Duplicated = Out + Lost + QueueFull + QueueDelayed + Held.
type Counts struct {
	In, InBytes                     uint64
	Out, OutBytes                   uint64
	Lost, QueueFull, QueueDelayed   uint64
	Duplicated, Corrupted, Overtook uint64
	Refused                         uint64 // by back-pressure; not part of In
}

// Pipe is one direction of one link. T is the caller's handle of a frame.
type Pipe[T any] struct {
	properties Properties
	hooks      Hooks[T]
	line       line[T]
	begun      []func(*outcome) // of all impairments
	impair     []func(*outcome) // of those that are configured: what the line does to each frame, in this order
	passing    outcome          // of the frame that enters the line
	counts     Counts

	queue  fifo[T]
	limit  int // of the queue, in packets; 0: none
	codel  codel
	pace   pace
	meter  meter
	cursor traceCursor
	head   service // of the queue's head, if it is known

	backPressure, codelling bool // the queue's mode

	popped      Delivery[T] // the last
	lastArrival time.Duration
	lastDue     time.Duration // of frames that keep their order
}

// NewPipe makes a direction; its random streams follow from seed, link and direction.
func NewPipe[T any](p Properties, seed uint64, link string, direction Direction, now time.Duration, hooks Hooks[T]) *Pipe[T] {
	d := &Pipe[T]{hooks: hooks, lastArrival: now, lastDue: now}
	for _, one := range d.properties.each() {
		d.begun = append(d.begun, one.begin(newStream(seed, link, direction)))
	}
	d.install(p, now)
	return d
}

// Properties are those in force.
func (d *Pipe[T]) Properties() Properties { return d.properties }

// PerFrame reports whether a rate or impairment acts on single frames, so that it matters how bytes are cut into them.
func (d *Pipe[T]) PerFrame() bool { return len(d.impair) > 0 || d.properties.Limited() }

// Counts are the frames' fates so far.
func (d *Pipe[T]) Counts() Counts { return d.counts }

// Held is what the model has now: frames and bytes, waiting for the rate and on the line.
func (d *Pipe[T]) Held() (frames, bytes int) {
	return d.queue.count + d.line.count(), d.queue.bytes + d.line.bytes
}

// Set changes properties at the given time, not before any time of an earlier call. What is queued or on the
// line stays: it leaves by the new rate, and arrives when it would have. A frame is never made to wait longer
// by a change of delay, but with less delay those that follow keep their order behind those under way. A queue
// that is over a new limit drains to it.
func (d *Pipe[T]) Set(now time.Duration, c *Change) {
	d.advance(now)
	d.install(d.properties.Apply(c), now)
}

func (d *Pipe[T]) install(p Properties, now time.Duration) {
	old, oldTrace := d.pace, d.properties.Trace
	d.properties = p
	d.impair = d.impair[:0]
	for i, one := range d.properties.each() {
		if !reflect.ValueOf(one).Elem().IsZero() {
			d.impair = append(d.impair, d.begun[i])
		}
	}
	d.head.known = false
	d.backPressure, d.codelling = p.Queue.Mode == QueueBackPressure, p.Queue.Mode == QueueCoDel
	d.limit = p.Queue.Packets
	d.pace = newPace(&p)
	begun := now
	if d.queue.count > 0 {
		begun = d.queue.front().arrival
	}
	d.meter = d.meter.rescale(now, begun, old, d.pace)
	if !p.Trace.IsZero() && !sameTrace(p.Trace, oldTrace) {
		d.cursor = traceCursor{start: now, left: TraceOpportunityBytes}
	}
	if !d.codelling {
		d.codel = codel{}
	}
}

func sameTrace(a, b Trace) bool {
	return len(a.at) == len(b.at) && len(a.at) > 0 && &a.at[0] == &b.at[0]
}

// Room reports whether Push would take a frame; always so without back-pressure.
func (d *Pipe[T]) Room() bool { return !d.backPressure || !d.queue.full(d.limit) }

// Writable reports whether a sender that found no room is woken now. Linux does so when what a socket has waiting is less
// than half of its buffer, and a buffer for N frames is between N−1 and N of them, so that (N−1)/2 are left at most.
func (d *Pipe[T]) Writable() bool { return d.limit == 0 || d.queue.count <= (d.limit-1)/2 }

// Push takes a frame that arrived at the given time; false if back-pressure refuses it, and the frame stays
// the caller's. An arrival before that of an earlier frame counts as simultaneous with it.
func (d *Pipe[T]) Push(frame T, bytes int, arrival time.Duration) bool {
	arrival = max(arrival, d.lastArrival)
	d.advance(arrival)
	if !d.Room() {
		d.counts.Refused++
		return false
	}
	d.lastArrival = arrival
	d.counts.In++
	d.counts.InBytes += uint64(bytes)
	if d.queue.count == 0 && !d.properties.Limited() {
		d.enterLine(waiting[T]{frame, bytes, arrival}, arrival)
		return true
	}
	if d.queue.full(d.limit) {
		if d.properties.Queue.Mode != QueueDropHead {
			d.drop(frame, QueueFull)
			return true
		}
		for d.queue.full(d.limit) {
			d.drop(d.dequeue().frame, QueueFull)
		}
	}
	d.queue.push(waiting[T]{frame, bytes, arrival})
	d.advance(arrival)
	return true
}

// Pop returns the next frame that is due by now. What it points to is good until the next Pop.
func (d *Pipe[T]) Pop(now time.Duration) (*Delivery[T], bool) {
	d.advance(now)
	first := d.line.first()
	if first == nil || first.Due > now {
		return nil, false
	}
	d.popped = first.Delivery
	d.line.pop()
	d.counts.Out++
	d.counts.OutBytes += uint64(d.popped.Bytes)
	return &d.popped, true
}

// Next is when something next happens without a Push: a frame is due, or one leaves the queue, which also
// makes room under back-pressure. False: nothing will.
func (d *Pipe[T]) Next() (time.Duration, bool) {
	var next time.Duration
	ok := false
	if first := d.line.first(); first != nil {
		next, ok = first.Due, true
	}
	if d.queue.count > 0 {
		if leaves := d.serveHead().leaves; !ok || leaves < next {
			next, ok = leaves, true
		}
	}
	return next, ok
}

// advance lets all leave the queue that leaves by now.
func (d *Pipe[T]) advance(now time.Duration) {
	for d.queue.count > 0 {
		served := d.serveHead()
		if served.leaves > now {
			return
		}
		queued := d.queue.bytes
		head := d.dequeue()
		if d.codelling && d.codel.drop(served.leaves, served.leaves-head.arrival, queued) {
			d.drop(head.frame, QueueDelayed)
			continue
		}
		d.meter, d.cursor = served.meter, served.cursor
		d.enterLine(head, served.leaves)
	}
}

// dequeue takes the head out of the queue.
func (d *Pipe[T]) dequeue() waiting[T] {
	d.head.known = false
	return d.queue.pop()
}

// service is when the head of the queue leaves it, and the state of the rate after that.
type service struct {
	known  bool // else it is to be found out
	leaves time.Duration
	meter  meter
	cursor traceCursor
}

// serveHead finds out the head's service, once for each head and rate.
func (d *Pipe[T]) serveHead() *service {
	if d.head.known {
		return &d.head
	}
	h := &d.head
	h.known, h.meter, h.cursor = true, d.meter, d.cursor
	if head := d.queue.front(); d.properties.Trace.IsZero() {
		h.leaves, h.meter = d.meter.serve(d.pace, head.arrival, head.bytes)
	} else {
		h.leaves, h.cursor = d.cursor.serve(d.properties.Trace, head.arrival, head.bytes)
	}
	return h
}

// enterLine sends a frame on its way at the given time.
func (d *Pipe[T]) enterLine(w waiting[T], at time.Duration) {
	p := &d.passing
	*p = outcome{bytes: w.bytes, delayMS: d.properties.DelayMS, flipBit: -1}
	for _, impair := range d.impair {
		if impair(p); p.lost {
			d.drop(w.frame, Lost)
			return
		}
	}
	f := Delivery[T]{Frame: w.frame, Bytes: w.bytes, Arrival: w.arrival, Left: at, FlipBit: p.flipBit}
	if f.FlipBit >= 0 {
		d.counts.Corrupted++
	}
	if p.overtakes {
		f.Due = at
		d.counts.Overtook++
	} else {
		f.Due = at + max(0, time.Duration(p.delayMS*nsPerMs))
		if !p.unordered {
			f.Due = max(f.Due, d.lastDue)
		}
		d.lastDue = max(d.lastDue, f.Due)
	}
	d.sendOff(&f)
	for range p.copies {
		if second, ok := d.hooks.Copy(w.frame); ok {
			d.counts.Duplicated++
			f.Frame = second
			d.sendOff(&f)
		}
	}
}

func (d *Pipe[T]) sendOff(f *Delivery[T]) {
	on := d.line.push(f)
	if d.hooks.Enter != nil {
		d.hooks.Enter(on)
	}
}

func (d *Pipe[T]) drop(frame T, cause Cause) {
	switch cause {
	case Lost:
		d.counts.Lost++
	case QueueFull:
		d.counts.QueueFull++
	case QueueDelayed:
		d.counts.QueueDelayed++
	}
	d.hooks.Drop(frame, cause)
}
