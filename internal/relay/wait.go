package relay

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"ncp-testbed/internal/timing"
)

// Tokens of the poller's descriptors.
const (
	timerToken = iota
	wakeToken
	frameToken
)

// maxNap bounds how long arriving frames are left alone, and so how many the ring must hold.
const maxNap = time.Millisecond

// waiter waits for the next deadline, a command or a frame.
//
// While frames keep coming it does not wake for each of them. No frame has to be sent sooner after its arrival
// than the shortest delay of all links, so two looks at the ring within that delay are enough.
type waiter struct {
	all, deadlines int // epoll: of everything, and of all but frames
	timer, wake    int
	armed          time.Duration
	nap            time.Duration // half of the shortest delay; 0: wake for every frame
	idle           int           // turns without a frame
	base           time.Duration // of model time, on CLOCK_MONOTONIC
	now            func() time.Duration
	advance        advance
	load           load
}

// advance is by how much the waiter has itself woken before a frame is due, to be awake when it is. What is
// left of it the waiter spins; so it learns what waking takes on this machine and is never far above it.
type advance time.Duration

// An advance is what fifteen of sixteen wakes take, at most a bound: a machine that is held up now and then, for
// long, must not keep the waiter spinning.
const (
	maxAdvance  = advance(50 * time.Microsecond)
	advanceStep = advance(150 * time.Nanosecond)
	advanceUp   = 15 // steps for one that was late, for one down
)

// learn follows one wake that came late by the given time.
func (a *advance) learn(late time.Duration) {
	if late > time.Duration(*a) {
		*a = min(*a+advanceUp*advanceStep, maxAdvance)
	} else {
		*a = max(*a-advanceStep, 0)
	}
}

// newWaiter waits for frames of descriptors; base is the beginning of model time, which now tells.
func newWaiter(base time.Duration, now func() time.Duration, frames ...int) (_ *waiter, err error) {
	w := &waiter{all: -1, deadlines: -1, timer: -1, wake: -1, armed: timing.Never, base: base, now: now}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	if w.timer, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC); err != nil {
		return nil, fmt.Errorf("timerfd: %w", err)
	}
	if w.wake, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC); err != nil {
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	for _, epoll := range []*int{&w.all, &w.deadlines} {
		if *epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
			return nil, fmt.Errorf("epoll: %w", err)
		}
		// Edge-triggered: the timer need not be read, setting it anew is enough.
		if err := watch(*epoll, w.timer, timerToken, unix.EPOLLIN|unix.EPOLLET); err != nil {
			return nil, err
		}
		if err := watch(*epoll, w.wake, wakeToken, unix.EPOLLIN); err != nil {
			return nil, err
		}
	}
	for _, fd := range frames {
		if err := watch(w.all, fd, frameToken, unix.EPOLLIN); err != nil {
			return nil, err
		}
	}
	return w, nil
}

func (w *waiter) close() {
	for _, fd := range []int{w.all, w.deadlines, w.timer, w.wake} {
		_ = unix.Close(fd)
	}
}

func watch(epoll, fd, token int, events uint32) error {
	if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: events, Fd: int32(token)}); err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	return nil
}

// turns without a frame after which the waiter wakes for the next one.
const idleTurns = 2

// load counts frames, to tell when so many are sent that being in time for each makes others late: then the waiter
// neither wakes early nor for each frame that is due soon after another.
type load struct {
	begun       time.Duration // of the millisecond that is counted
	count, last int           // in it, in the one before
}

const (
	loadSpan = time.Millisecond
	// busyFrames in a millisecond are 64,000 a second: 0.8 Gbit/s of full-size ones.
	busyFrames = 64
	// A frame takes some 3 µs to be sent, and a wake several times that.
	coalesceEach = 2 * time.Microsecond
	maxCoalesce  = 250 * time.Microsecond
)

// add counts frames that were sent by now.
func (l *load) add(now time.Duration, frames int) {
	if passed := now - l.begun; passed >= loadSpan {
		l.last, l.count, l.begun = l.count, 0, now
		if passed >= 2*loadSpan {
			l.last = 0
		}
	}
	l.count += frames
}

// coalesceDelay returns by how much the first of frames that are due soon after each other may be late; 0 if not many
// are sent.
func (l *load) coalesceDelay() time.Duration {
	frames := max(l.count, l.last)
	if frames < busyFrames {
		return 0
	}
	return min(time.Duration(frames)*coalesceEach, maxCoalesce)
}

// wait returns at a deadline, after a command, or when there may be frames; commanded tells of commands.
// frames is how many the last turn has read, sent how many it has sent.
func (w *waiter) wait(now, deadline time.Duration, frames, sent int) (commanded bool, err error) {
	if frames > 0 {
		w.idle = 0
	} else {
		w.idle++
	}
	epoll, wake := w.all, deadline
	w.load.add(now, sent)
	switch delay := w.load.coalesceDelay(); {
	case deadline == timing.Never:
	case delay > 0 && deadline > now:
		deadline += delay
		wake = deadline
	default:
		wake -= time.Duration(w.advance)
	}
	if w.nap > 0 && w.idle < idleTurns {
		epoll = w.deadlines
		wake = min(wake, now+w.nap)
	}
	timeout := -1
	switch {
	case deadline <= now || frames == maxReads: // there may be more
		timeout = 0
	case wake <= now:
		for w.now() < deadline {
		}
		timeout = 0
	case wake != timing.Never && wake != w.armed:
		spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(w.base + wake))}
		if err := unix.TimerfdSettime(w.timer, unix.TFD_TIMER_ABSTIME, &spec, nil); err != nil {
			return false, fmt.Errorf("timerfd: %w", err)
		}
		w.armed = wake
	}
	var events [4]unix.EpollEvent
	n, err := unix.EpollWait(epoll, events[:], timeout)
	if err == unix.EINTR {
		return false, nil
	}
	for _, event := range events[:max(0, n)] {
		switch event.Fd {
		case timerToken:
			if timeout < 0 {
				w.advance.learn(w.now() - w.armed)
			}
			w.armed = timing.Never
		case wakeToken:
			commanded = true
		}
	}
	return commanded, err
}
