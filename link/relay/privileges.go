package relay

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Granted tells what the machine let the relay have for its punctuality. An empty reason means granted.
type Granted struct {
	RealTime     bool   `json:"sched_fifo"`
	RealTimeWhy  string `json:"sched_fifo_reason,omitempty"`
	Locked       bool   `json:"mlockall"`
	LockedWhy    string `json:"mlockall_reason,omitempty"`
	TimerSlackNS int    `json:"timer_slack_ns"`
}

// realTimePriority is above all ordinary threads and below the kernel's own real-time ones.
const realTimePriority = 10

// acquire asks for the privileges, for the calling thread, which must be locked to its goroutine.
func acquire() Granted {
	var g Granted
	// Threads that Go makes later must not inherit the priority.
	err := unix.SchedSetAttr(0, &unix.SchedAttr{
		Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: realTimePriority,
		Flags: unix.SCHED_FLAG_RESET_ON_FORK,
	}, 0)
	if g.RealTime = err == nil; err != nil {
		g.RealTimeWhy = fmt.Sprintf("sched_setattr: %v", err)
	}
	err = unix.Mlockall(unix.MCL_CURRENT | unix.MCL_FUTURE | unix.MCL_ONFAULT)
	if g.Locked = err == nil; err != nil {
		g.LockedWhy = fmt.Sprintf("mlockall: %v", err)
	}
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err == nil {
		g.TimerSlackNS = 1
	} else {
		g.TimerSlackNS = 50_000 // the kernel's default
	}
	return g
}
