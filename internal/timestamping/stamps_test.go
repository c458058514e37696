package timestamping

import (
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"ncp-testbed/internal/timing"
)

// message is control data of one kind.
func message(level, kind int32, data []byte) []byte {
	control := make([]byte, unix.CmsgSpace(len(data)))
	header := (*unix.Cmsghdr)(unsafe.Pointer(&control[0]))
	header.Level, header.Type = level, kind
	header.SetLen(unix.CmsgLen(len(data)))
	copy(control[unix.CmsgLen(0):], data)
	return control
}

func stamped(seconds, nanoseconds int64) []byte {
	stamps := [6]int64{seconds, nanoseconds} // software, deprecated, hardware
	return message(unix.SOL_SOCKET, unix.SCM_TIMESTAMPING, unsafe.Slice((*byte)(unsafe.Pointer(&stamps)), unsafe.Sizeof(stamps)))
}

func TestTheSoftwareStampIsFound(t *testing.T) {
	other := message(unix.SOL_IP, unix.IP_RECVERR, make([]byte, unsafe.Sizeof(unix.SockExtendedErr{})))
	for name, c := range map[string]struct {
		control []byte
		want    timing.Unix
	}{
		"alone":              {stamped(3, 7), 3_000_000_007},
		"after another kind": {slices.Concat(other, stamped(3, 7)), 3_000_000_007},
		"none":               {other, 0},
		"cut off":            {message(unix.SOL_SOCKET, unix.SCM_TIMESTAMPING, make([]byte, 8)), 0},
		"nothing":            {nil, 0},
	} {
		if got, ok := FromControl(c.control); got != c.want || ok != (c.want != 0) {
			t.Errorf("%s: %d, %v, want %d", name, got, ok, c.want)
		}
	}
}

func FuzzFromControl(f *testing.F) {
	f.Add(stamped(1, 2))
	f.Add(message(unix.SOL_IP, unix.IP_RECVERR, make([]byte, 32)))
	f.Fuzz(func(t *testing.T, control []byte) {
		if stamp, ok := FromControl(slices.Clone(control)); ok == (stamp == 0) {
			t.Errorf("%x: stamp %d, %v", control, stamp, ok)
		}
	})
}
