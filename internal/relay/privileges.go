package relay

import (
	"fmt"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// Privileges are what the machine let the relay have for its punctuality. An empty reason means granted.
type Privileges struct {
	RealTime     bool   `json:"real_time"`
	RealTimeWhy  string `json:"real_time_reason,omitempty"`
	Locked       bool   `json:"mlockall"`
	LockedWhy    string `json:"mlockall_reason,omitempty"`
	TimerSlackNS int    `json:"timer_slack_ns"`
	Awake        bool   `json:"processors_awake"`
	AwakeWhy     string `json:"processors_awake_reason,omitempty"`
}

// realTimePriority is above all ordinary threads and below the kernel's own real-time ones.
const realTimePriority = 10

// minProcs leaves Go a processor to spare, so that the loop never waits for one when it comes back from a
// system call.
const minProcs = 4

// acquire asks for the privileges; the calling thread must be locked to its goroutine.
func acquire() Privileges {
	var g Privileges
	runtime.GOMAXPROCS(max(minProcs, runtime.GOMAXPROCS(0)))
	err := allRealTime()
	if g.RealTime = err == nil; err != nil {
		g.RealTimeWhy = err.Error()
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
	err = keepAwake()
	if g.Awake = err == nil; err != nil {
		g.AwakeWhy = err.Error()
	}
	return g
}

// keepAwake has idle processors wait without sleeping until this process ends: out of a sleep, or out of a hypervisor's
// hands, a wake takes tens of microseconds. The file takes the largest latency of waking, in µs, and the value
// holds as long as it is open (Linux, Documentation/power/pm_qos_interface.rst).
func keepAwake() error {
	const file = "/dev/cpu_dma_latency"
	fd, err := unix.Open(file, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if _, err := unix.Write(fd, make([]byte, 4)); err != nil {
		_ = unix.Close(fd)
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// allRealTime gives every thread of the process the priority, and those that come inherit it. The loop's alone
// would not do: it waits, spinning, for what another thread of Go's runtime holds for a moment, and if that
// one had been preempted by the loop, or by any busy program, it would wait for long. In turns (SCHED_RR): on a
// single core a thread that spins for another one, first come first served, would never let it run.
func allRealTime() error {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		if err != nil {
			return err
		}
		err = unix.SchedSetAttr(id, &unix.SchedAttr{
			Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: realTimePriority,
		}, 0)
		if err != nil && err != unix.ESRCH {
			return fmt.Errorf("sched_setattr: %w", err)
		}
	}
	return nil
}
