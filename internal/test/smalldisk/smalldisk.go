// Package smalldisk lets tests fill a disk.
package smalldisk

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// Run returns a folder on a file system of a few pages, in a mount
// namespace of a thread that ends with the test; run uses it on that thread.
func Run(t *testing.T, bytes int, run func(dir string) error) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root, to mount a small file system")
	}
	dir := t.TempDir()
	skip := errors.New("skip")
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread and its namespace end here
		err := unix.Unshare(unix.CLONE_NEWNS)
		if err == nil {
			err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
		}
		if err == nil {
			err = unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", bytes))
		}
		if err != nil {
			done <- fmt.Errorf("%w: %w", skip, err)
			return
		}
		done <- run(dir)
	}()
	if err := <-done; errors.Is(err, skip) {
		t.Skip(err)
	} else if err != nil {
		t.Error(err)
	}
}
