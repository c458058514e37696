package collect

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// cost measures the CPU time of a goroutine, which has a thread to itself from then on.
type cost struct{ begun, last time.Duration }

func startCost() *cost {
	runtime.LockOSThread()
	now := threadTime()
	return &cost{now, now}
}

// since returns the seconds since its last call.
func (c *cost) since() float64 {
	now := threadTime()
	spent := now - c.last
	c.last = now
	return spent.Seconds()
}

// total returns the seconds since the start.
func (c *cost) total() float64 { return (threadTime() - c.begun).Seconds() }

func threadTime() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		return 0
	}
	return time.Duration(now.Nano())
}
