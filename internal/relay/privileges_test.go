package relay

import (
	"encoding/binary"
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// The machine itself says what it was asked for: the lowest latency of all who have its file open.
func TestProcessorsStayAwake(t *testing.T) {
	switch err := keepAwake(); {
	case errors.Is(err, unix.EACCES):
		t.Skipf("needs root, %v", err)
	case errors.Is(err, unix.ENOENT):
		t.Skipf("no processors to keep awake: %v", err)
	case err != nil:
		t.Fatal(err)
	}
	file, err := os.Open("/dev/cpu_dma_latency")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	us := make([]byte, 4)
	if _, err := file.Read(us); err != nil {
		t.Fatal(err)
	}
	if asked := int32(binary.NativeEndian.Uint32(us)); asked != 0 {
		t.Errorf("idle processors may take %d µs to wake, asked for 0", asked)
	}
}
