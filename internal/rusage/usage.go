// Package rusage reports what this process has used of the machine: the one thing
// of a simulation that differs from run to run.
package rusage

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"
)

// CPU is the time that all cores have worked for this process, kernel included;
// 0 where it can't be had.
func CPU() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// PeakBytes is the most resident memory so far; 0 where it can't be had. Linux's
// getrusage would count what the process was before it became this program.
func PeakBytes() int64 {
	if text, err := os.ReadFile("/proc/self/status"); err == nil {
		if _, after, found := bytes.Cut(text, []byte("\nVmHWM:")); found {
			var kib int64
			if _, err := fmt.Fscan(bytes.NewReader(after), &kib); err == nil {
				return kib << 10
			}
		}
	}
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(usage.Maxrss) // getrusage(2): bytes there, KiB elsewhere
	}
	return int64(usage.Maxrss) << 10
}
