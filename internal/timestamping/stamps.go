// Package timestamping has the kernel stamp packets with when they left and arrived
// (Documentation/networking/timestamping.rst).
package timestamping

import (
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"ncp-testbed/internal/timing"
)

// What a socket can have stamped. Sent packets count from 0 anew when Sends comes to be set.
const (
	Receives = unix.SOF_TIMESTAMPING_RX_SOFTWARE | unix.SOF_TIMESTAMPING_SOFTWARE
	Sends    = unix.SOF_TIMESTAMPING_TX_SOFTWARE | unix.SOF_TIMESTAMPING_OPT_ID | unix.SOF_TIMESTAMPING_OPT_TSONLY
)

// ControlBytes is room for the control data of a message with a stamp.
const ControlBytes = 512

// Settling is what the kernel may take, after the first Set on a machine, until it stamps what it receives.
const Settling = 20 * time.Millisecond

// Set has the kernel stamp what a socket receives or sends from now on.
func Set(fd, flags int) error {
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPING, flags); err != nil {
		return fmt.Errorf("SO_TIMESTAMPING: %w", err)
	}
	return nil
}

// FromControl returns the software stamp in a message's control data, and whether there is one: a packet that arrives
// while stamping begins has none (Settling). The time at which a program comes to read it is no substitute.
func FromControl(control []byte) (stamp timing.Unix, ok bool) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return 0, false
	}
	for _, m := range messages {
		if m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SCM_TIMESTAMPING &&
			len(m.Data) >= int(unsafe.Sizeof(unix.Timespec{})) {
			stamp = timing.Unix((*unix.Timespec)(unsafe.Pointer(&m.Data[0])).Nano())
			return stamp, stamp != 0
		}
	}
	return 0, false
}

// ReadTX moves the stamps of sent packets off a socket into a map, by their order since Sends was set: when
// each left for the interface.
func ReadTX(fd int, into map[uint32]timing.Unix) {
	control := make([]byte, ControlBytes)
	for {
		_, n, _, _, err := unix.Recvmsg(fd, nil, control, unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT)
		if err != nil {
			return
		}
		stamp, ok := FromControl(control[:n])
		messages, err := unix.ParseSocketControlMessage(control[:n])
		if err != nil || !ok {
			continue
		}
		for _, m := range messages {
			if m.Header.Level == unix.SOL_IP && m.Header.Type == unix.IP_RECVERR &&
				len(m.Data) >= int(unsafe.Sizeof(unix.SockExtendedErr{})) {
				into[(*unix.SockExtendedErr)(unsafe.Pointer(&m.Data[0])).Data] = stamp
			}
		}
	}
}
