// Package netns runs functions in network namespaces.
package netns

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Within runs a function in the network namespace at a path. Sockets made there stay there.
func Within(path string, f func() error) error {
	failed := make(chan error, 1)
	go func() {
		// The thread is not given back, and so ends with the goroutine: nothing else runs in the namespace.
		runtime.LockOSThread()
		failed <- func() error {
			namespace, err := os.Open(path)
			if err != nil {
				return err
			}
			defer namespace.Close()
			if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err != nil {
				return fmt.Errorf("enter network namespace %s: %w", path, err)
			}
			return f()
		}()
	}()
	return <-failed
}
