package relay

import (
	"fmt"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"ncp-testbed/internal/timing"
)

// segmentFrames is how many frames the links with whole segments can hold together: 256 MiB, 0.2 s at 10 Gbit/s.
const segmentFrames = 1 << 12

// segmentQueueBytes is what the kernel may keep of them until the relay comes to read: 0.1 s at 10 Gbit/s.
const segmentQueueBytes = 128 << 20

// Room for what the kernel says of a frame beside it: its stamp, and the tag that it took off.
const segmentControlBytes = 128

// segmentBatch is how many frames one system call takes from the kernel.
const segmentBatch = 32

// segments takes the frames that arrive at links with whole segments, each straight into a buffer of the pool.
type segments struct {
	fd          int
	pool        *pool
	count, next int // of those read last
	buffers     [segmentBatch]int32
	headers     [segmentBatch]unix.Mmsghdr
	vectors     [segmentBatch]unix.Iovec
	addresses   [segmentBatch]unix.RawSockaddrLinklayer
	controls    [segmentBatch][segmentControlBytes]byte
	dropped     uint64
}

// openSegments listens on the interfaces of the given indexes.
func openSegments(indexes []int) (*segments, error) {
	pool, err := newPool(segmentFrames, vnetHeaderBytes, segmentBytes+maxHeaderBytes)
	if err != nil {
		return nil, err
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		pool.close()
		return nil, fmt.Errorf("packet socket: %w", err)
	}
	s := &segments{fd: fd, pool: pool}
	for i := range s.buffers {
		s.buffers[i] = pool.take()
		s.headers[i].Hdr.Name = (*byte)(unsafe.Pointer(&s.addresses[i]))
		s.headers[i].Hdr.Control = &s.controls[i][0]
		s.headers[i].Hdr.Iov = &s.vectors[i]
		s.headers[i].Hdr.SetIovlen(1)
		s.offer(i)
	}
	if err := s.configure(interfaceFilter(indexes)); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *segments) configure(filter []bpf.Instruction) error {
	for _, option := range []struct {
		name              string
		level, key, value int
	}{
		{"PACKET_IGNORE_OUTGOING", unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1},
		{"PACKET_VNET_HDR", unix.SOL_PACKET, unix.PACKET_VNET_HDR, 1},
		{"PACKET_AUXDATA", unix.SOL_PACKET, unix.PACKET_AUXDATA, 1},
		{"SO_TIMESTAMPNS", unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1},
		{"SO_RCVBUFFORCE", unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, segmentQueueBytes},
	} {
		if err := unix.SetsockoptInt(s.fd, option.level, option.key, option.value); err != nil {
			return fmt.Errorf("%s: %w", option.name, err)
		}
	}
	return attachAndBind(s.fd, filter)
}

func (s *segments) close() {
	_ = unix.Close(s.fd)
	s.pool.close()
}

// offer readies a place of the batch for a frame to come.
func (s *segments) offer(i int) {
	room := s.pool.room(s.buffers[i])
	s.vectors[i].Base = &room[0]
	s.vectors[i].SetLen(len(room))
	h := &s.headers[i].Hdr
	h.Namelen = uint32(unsafe.Sizeof(s.addresses[i]))
	h.SetControllen(segmentControlBytes)
	h.Flags = 0
}

// take fills in the next frame that has arrived, and the buffer that it is in; false if there is none. The buffer
// stays the receiver's unless it is taken over.
func (s *segments) take(a *arrived) (buffer int32, ok bool) {
	if s.next == s.count {
		for i := range s.count {
			s.offer(i)
		}
		n, _, errno := unix.RawSyscall6(unix.SYS_RECVMMSG, uintptr(s.fd), uintptr(unsafe.Pointer(&s.headers[0])),
			segmentBatch, unix.MSG_DONTWAIT, 0, 0)
		if s.next, s.count = 0, int(n); errno != 0 {
			s.count = 0
		}
		if s.count == 0 {
			return -1, false
		}
	}
	i := s.next
	s.next++
	h := &s.headers[i]
	buffer = s.buffers[i]
	s.pool.length[buffer] = uint32(max(0, int(h.Len)-vnetHeaderBytes))
	*a = arrived{ifindex: s.addresses[i].Ifindex, bytes: s.pool.frame(buffer), length: int(s.pool.length[buffer])}
	if h.Hdr.Flags&unix.MSG_TRUNC != 0 {
		a.length = len(a.bytes) + 1
	}
	a.readControl(s.controls[i][:h.Hdr.Controllen])
	return buffer, true
}

// takeOver leaves the buffer of the frame taken last to the caller; false if there is no other one to be had.
func (s *segments) takeOver() bool {
	other := s.pool.take()
	if other < 0 {
		return false
	}
	s.buffers[s.next-1] = other
	return true
}

// readControl reads the stamp and the tag. The kernel lays the messages out one behind the other (cmsg(3)).
func (a *arrived) readControl(control []byte) {
	for len(control) >= unix.SizeofCmsghdr {
		h := (*unix.Cmsghdr)(unsafe.Pointer(&control[0]))
		if h.Len < unix.SizeofCmsghdr || h.Len > uint64(len(control)) {
			return
		}
		data := control[unix.SizeofCmsghdr:h.Len]
		switch {
		case h.Level == unix.SOL_SOCKET && h.Type == unix.SCM_TIMESTAMPNS && len(data) >= int(unsafe.Sizeof(unix.Timespec{})):
			a.wall = timing.Unix((*unix.Timespec)(unsafe.Pointer(&data[0])).Nano())
		case h.Level == unix.SOL_PACKET && h.Type == unix.PACKET_AUXDATA && len(data) >= int(unsafe.Sizeof(unix.TpacketAuxdata{})):
			auxiliary := (*unix.TpacketAuxdata)(unsafe.Pointer(&data[0]))
			a.readTag(auxiliary.Status, auxiliary.Vlan_tci, auxiliary.Vlan_tpid)
		}
		control = control[min(len(control), (int(h.Len)+7)&^7):]
	}
}

// drops is how many frames the kernel has dropped so far because the queue was full.
func (s *segments) drops() uint64 {
	if stats, err := unix.GetsockoptTpacketStats(s.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS); err == nil {
		s.dropped += uint64(stats.Drops) // reading resets the kernel's count
	}
	return s.dropped
}
