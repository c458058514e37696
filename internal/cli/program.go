// Package cli is the edge of the testbed's programs: their exit codes, what they say on the standard error before
// they end, and how a signal ends them.
package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

// Exit codes, the same as those of the testbed's command line.
const (
	ExitDone        = 0
	ExitFailed      = 1
	ExitBadInput    = 2
	ExitUnsupported = 4 // this machine can't do it
)

// OfTheMachine reports whether the cause is a disk that is full, or a file that may not be used.
func OfTheMachine(err error) bool {
	for _, cause := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EACCES, syscall.EPERM} {
		if errors.Is(err, cause) {
			return true
		}
	}
	return false
}

// Failed says why, and returns the exit code for it.
func Failed(why any) int { return report(ExitFailed, why) }

// BadInput says what is wrong with what the caller gave, and returns the exit code for it.
func BadInput(why any) int { return report(ExitBadInput, why) }

// Unsupported says what this machine lacks, and returns the exit code for it.
func Unsupported(why any) int { return report(ExitUnsupported, why) }

func report(code int, why any) int {
	fmt.Fprintf(os.Stderr, "%s: %v\n", filepath.Base(os.Args[0]), why)
	return code
}

// UntilSignal returns a context that ends when the program has to end: by SIGTERM, or SIGINT at a terminal.
func UntilSignal() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
}
