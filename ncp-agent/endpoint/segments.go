package endpoint

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"

	"ncp-testbed/internal/sockets"
)

// The kernel takes a run of equal datagrams as one buffer and cuts it into
// segments as late as it can (UDP_SEGMENT, Linux 4.18), and gives a run that
// came together as one (UDP_GRO, Linux 5.0): one way through the stack for up
// to 63 packets. On the wire they are the same datagrams.
const (
	maxDatagram  = 1<<16 - 1
	maxUDPData   = maxDatagram - 20 - 8 // what IPv4's length field leaves
	maxSegments  = 64                   // in the kernel's UDP_MAX_SEGMENTS, of all versions
	joinedReads  = 8                    // buffers of 64 KiB for one recvmmsg
	segmentBytes = 2                    // UDP_SEGMENT carries a uint16
	joinedBytes  = 4                    // UDP_GRO an int
)

var segmentControl, joinedControl = unix.CmsgSpace(segmentBytes), unix.CmsgSpace(joinedBytes)

// joinSegments turns both on, and reports whether joined datagrams may arrive.
func (s *udpSocket) joinSegments() bool {
	err := sockets.Control(s.udp, func(fd int) error {
		if _, err := unix.GetsockoptInt(fd, unix.IPPROTO_UDP, unix.UDP_SEGMENT); err == nil {
			s.segments = maxSegments
		}
		return unix.SetsockoptInt(fd, unix.IPPROTO_UDP, unix.UDP_GRO, 1)
	})
	return err == nil
}

// refusesSegments reports whether an error is of a device or packet size that goes
// without segmentation only.
func refusesSegments(err error) bool { return sockets.IsAny(err, unix.EIO, unix.EINVAL, unix.EMSGSIZE) }

// runLength returns how many of the first packets can go as one buffer: all of
// the first one's length, but for the last, which may be shorter.
func runLength(packets [][]byte, limit int) int {
	size := len(packets[0])
	run, total := 1, size
	if size == 0 {
		return run
	}
	for run < min(limit, len(packets)) && len(packets[run-1]) == size {
		next := len(packets[run])
		if next == 0 || next > size || total+next > maxUDPData {
			break
		}
		total += next
		run++
	}
	return run
}

// appendSegmentSize appends the control message that says where to cut.
func appendSegmentSize(control []byte, size int) []byte {
	control = control[:segmentControl]
	clear(control)
	header := (*unix.Cmsghdr)(unsafe.Pointer(&control[0]))
	header.Level, header.Type = unix.IPPROTO_UDP, unix.UDP_SEGMENT
	header.SetLen(unix.CmsgLen(segmentBytes))
	binary.NativeEndian.PutUint16(control[unix.CmsgLen(0):], uint16(size))
	return control
}

// appendSegments cuts what was received at once into its datagrams, as its
// control message says; without one it is a single datagram.
func appendSegments(packets [][]byte, data, control []byte) [][]byte {
	size := len(data)
	if len(control) >= unix.CmsgLen(joinedBytes) {
		if header := (*unix.Cmsghdr)(unsafe.Pointer(&control[0])); header.Level == unix.IPPROTO_UDP && header.Type == unix.UDP_GRO {
			size = int(int32(binary.NativeEndian.Uint32(control[unix.CmsgLen(0):])))
		}
	}
	if size <= 0 || size >= len(data) {
		return append(packets, data)
	}
	for len(data) > size {
		packets = append(packets, data[:size])
		data = data[size:]
	}
	return append(packets, data)
}
