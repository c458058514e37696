package relay

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"ncp-testbed/link/model"
)

// Tokens of the poller's descriptors.
const (
	timerToken = iota
	wakeToken
	frameToken
)

// maxNap bounds how long arriving frames are left alone, and so how many the ring must hold.
const maxNap = model.Time(time.Millisecond)

// waiter waits for the next deadline, a command or a frame.
//
// While frames keep coming it does not wake for each of them: no frame has to be sent sooner after its arrival
// than the shortest delay of all links, so it is enough to look at the ring twice within that.
type waiter struct {
	all, deadlines int // epoll: of everything, and of all but frames
	timer, wake    int
	armed          model.Time
	nap            model.Time // half of the shortest delay; 0: wake for every frame
	idle           int        // turns without a frame
	base           int64      // of model time, on CLOCK_MONOTONIC
}

func newWaiter(base int64, frames int) (*waiter, error) {
	w := &waiter{armed: never, base: base}
	var err error
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
	return w, watch(w.all, frames, frameToken, unix.EPOLLIN)
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

// wait returns at a deadline, after a command, or when there may be frames; commanded tells of commands.
// frames is how many the last turn has read.
func (w *waiter) wait(now, deadline model.Time, frames int) (commanded bool, err error) {
	if frames > 0 {
		w.idle = 0
	} else {
		w.idle++
	}
	epoll := w.all
	if w.nap > 0 && w.idle < idleTurns {
		epoll = w.deadlines
		deadline = min(deadline, now+w.nap)
	}
	timeout := -1
	switch {
	case deadline <= now || frames == maxReads: // there may be more
		timeout = 0
	case deadline != never && deadline != w.armed:
		spec := unix.ItimerSpec{Value: unix.NsecToTimespec(w.base + deadline)}
		if err := unix.TimerfdSettime(w.timer, unix.TFD_TIMER_ABSTIME, &spec, nil); err != nil {
			return false, fmt.Errorf("timerfd: %w", err)
		}
		w.armed = deadline
	}
	var events [3]unix.EpollEvent
	n, err := unix.EpollWait(epoll, events[:], timeout)
	if err == unix.EINTR {
		return false, nil
	}
	for _, event := range events[:max(0, n)] {
		switch event.Fd {
		case timerToken:
			w.armed = never
		case wakeToken:
			commanded = true
		}
	}
	return commanded, err
}
