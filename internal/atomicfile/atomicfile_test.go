package atomicfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"ncp-testbed/internal/test/smalldisk"
)

func TestWrite(t *testing.T) {
	file := filepath.Join(t.TempDir(), "result.json")
	for _, want := range []string{"[\n  1\n]\n", "\"other\"\n"} {
		v := any([]int{1})
		if want[0] == '"' {
			v = "other"
		}
		if err := Write(file, v); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("%q (%v), want %q", got, err, want)
		}
	}
	if err := Write(file, func() {}); err == nil {
		t.Error("a function was written as JSON")
	}
}

// What was there stays, and nothing is left beside it.
func TestAFullDiskLeavesTheFileAsItWas(t *testing.T) {
	smalldisk.Run(t, 64<<10, func(disk string) error {
		file := filepath.Join(disk, "result.json")
		if err := Write(file, "before"); err != nil {
			return err
		}
		if err := Write(file, make([]byte, 1<<20)); !errors.Is(err, unix.ENOSPC) {
			return fmt.Errorf("%w, want a full disk", err)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != "\"before\"\n" {
			return fmt.Errorf("%q (%w), want what was there", got, err)
		}
		if left, _ := os.ReadDir(disk); len(left) != 1 {
			return fmt.Errorf("left: %v", left)
		}
		return nil
	})
}
