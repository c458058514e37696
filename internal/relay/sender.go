package relay

import (
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// batch is how many frames one system call gives to the kernel.
const batch = 64

// sendBufferBytes is ample for a batch: a veth pair takes frames off the socket at once.
const sendBufferBytes = 16 << 20

// departure is a frame about to be sent.
type departure struct {
	direction    *direction
	buffer       int32
	arrival, due time.Duration
}

// sender gives frames to the interfaces of links by one socket.
type sender struct {
	fd        int
	count     int
	frames    [batch]departure
	headers   [batch]unix.Mmsghdr
	vectors   [batch]unix.Iovec
	addresses [batch]unix.RawSockaddrLinklayer
}

// openSender is for frames, or with headers for those of links with whole segments.
func openSender(headers bool) (*sender, error) {
	// Protocol 0: it sends only.
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("packet socket: %w", err)
	}
	s := &sender{fd: fd}
	for i := range s.headers {
		h := &s.headers[i].Hdr
		h.Iov = &s.vectors[i]
		h.SetIovlen(1)
		h.Name = (*byte)(unsafe.Pointer(&s.addresses[i]))
		h.Namelen = uint32(unsafe.Sizeof(s.addresses[i]))
		s.addresses[i].Family = unix.AF_PACKET
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_QDISC_BYPASS, 1); err != nil {
		s.close()
		return nil, fmt.Errorf("PACKET_QDISC_BYPASS: %w", err)
	}
	if headers {
		if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_VNET_HDR, 1); err != nil {
			s.close()
			return nil, fmt.Errorf("PACKET_VNET_HDR: %w", err)
		}
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, sendBufferBytes); err != nil {
		s.close()
		return nil, fmt.Errorf("SO_SNDBUFFORCE: %w", err)
	}
	return s, nil
}

func (s *sender) close() { _ = unix.Close(s.fd) }

func (s *sender) full() bool { return s.count == batch }

// add puts a frame, with its header, into the batch, which must not be full. The bytes must stay until send has
// returned.
func (s *sender) add(d departure, packet []byte) {
	s.frames[s.count] = d
	s.addTo(int32(d.direction.to.Index), packet)
}

// addTo is add for a packet of which no record is kept.
func (s *sender) addTo(ifindex int32, packet []byte) {
	s.vectors[s.count].Base = &packet[0]
	s.vectors[s.count].SetLen(len(packet))
	s.addresses[s.count].Ifindex = ifindex
	s.count++
}

// send gives the batch, from the given frame on, to the kernel; it returns how many it took, and why not the
// one after these.
func (s *sender) send(first int) (int, unix.Errno) {
	sent, _, errno := unix.RawSyscall6(unix.SYS_SENDMMSG, uintptr(s.fd), uintptr(unsafe.Pointer(&s.headers[first])),
		uintptr(s.count-first), unix.MSG_DONTWAIT, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(sent), 0
}
