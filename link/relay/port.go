package relay

import (
	"fmt"
	"net"
	"unsafe"

	"golang.org/x/sys/unix"
)

// batch is how many frames one system call takes or gives.
const batch = 64

// socketBufferBytes is what the kernel may keep of received frames until the relay comes to read them.
const socketBufferBytes = 16 << 20

// port is the packet socket at one end of a link's middle.
type port struct {
	fd        int
	name      string
	mtu       int
	kernel    uint64 // frames that the kernel dropped because the socket was full
	outgoing  []int32
	due       []int64 // beside outgoing
	arrivals  []int64 // beside outgoing
	delivered *direction
	arriving  *direction
}

// openPort binds to an interface of the current network namespace.
func openPort(name string) (*port, error) {
	device, err := net.InterfaceByName(name)
	if err != nil {
		return nil, fmt.Errorf("interface %s: %w", name, err)
	}
	// Protocol 0 receives nothing until bind gives the interface: no frame of another one slips in.
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("interface %s: packet socket: %w", name, err)
	}
	p := &port{
		fd: fd, name: name, mtu: device.MTU,
		outgoing: make([]int32, 0, batch), due: make([]int64, 0, batch), arrivals: make([]int64, 0, batch),
	}
	if err := p.configure(device.Index); err != nil {
		p.close()
		return nil, fmt.Errorf("interface %s: %w", name, err)
	}
	return p, nil
}

func (p *port) configure(index int) error {
	for _, option := range []struct {
		name              string
		level, key, value int
	}{
		{"PACKET_IGNORE_OUTGOING", unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1},
		{"PACKET_QDISC_BYPASS", unix.SOL_PACKET, unix.PACKET_QDISC_BYPASS, 1},
		{"PACKET_AUXDATA", unix.SOL_PACKET, unix.PACKET_AUXDATA, 1},
		{"SO_TIMESTAMPNS", unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1},
		{"SO_RCVBUFFORCE", unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, socketBufferBytes},
		{"SO_SNDBUFFORCE", unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, socketBufferBytes},
	} {
		if err := unix.SetsockoptInt(p.fd, option.level, option.key, option.value); err != nil {
			return fmt.Errorf("%s: %w", option.name, err)
		}
	}
	all := uint16(unix.ETH_P_ALL)
	return unix.Bind(p.fd, &unix.SockaddrLinklayer{Protocol: all>>8 | all<<8, Ifindex: index})
}

func (p *port) close() { _ = unix.Close(p.fd) }

// kernelDrops is how many frames the kernel has dropped so far because the socket was full.
func (p *port) kernelDrops() uint64 {
	if stats, err := unix.GetsockoptTpacketStats(p.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS); err == nil {
		p.kernel += uint64(stats.Drops) // reading resets the kernel's count
	}
	return p.kernel
}

// mmsghdr is struct mmsghdr of recvmmsg(2).
type mmsghdr struct {
	header unix.Msghdr
	length uint32
}

// controlBytes is room for a timestamp and auxiliary data.
const controlBytes = 128

// messages are the arguments of recvmmsg and sendmmsg, made once.
type messages struct {
	headers [batch]mmsghdr
	vectors [batch]unix.Iovec
	control [batch][controlBytes]byte
	buffers [batch]int32 // for receiving; -1: none
}

func newMessages() *messages {
	m := &messages{}
	for i := range m.headers {
		m.headers[i].header.Iov = &m.vectors[i]
		m.headers[i].header.SetIovlen(1)
		m.buffers[i] = -1
	}
	return m
}

// prepare gives every message of a receive a buffer; it returns how many have one.
func (m *messages) prepare(p *pool) int {
	for i := range m.headers {
		if m.buffers[i] < 0 {
			if m.buffers[i] = p.take(); m.buffers[i] < 0 {
				return i
			}
			room := p.room(m.buffers[i])[headroom:]
			m.vectors[i].Base = &room[0]
			m.vectors[i].SetLen(len(room))
		}
		h := &m.headers[i].header
		h.Control = &m.control[i][0]
		h.SetControllen(controlBytes)
	}
	return batch
}

// receive fills up to n messages without waiting.
func (m *messages) receive(fd, n int) (int, unix.Errno) {
	got, _, errno := unix.RawSyscall6(unix.SYS_RECVMMSG, uintptr(fd), uintptr(unsafe.Pointer(&m.headers[0])),
		uintptr(n), unix.MSG_DONTWAIT|unix.MSG_TRUNC, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(got), 0
}

// send gives the kernel the frames in the given buffers; it returns how many it took.
func (m *messages) send(fd int, p *pool, buffers []int32) (int, unix.Errno) {
	for i, buffer := range buffers {
		frame := p.frame(buffer)
		m.vectors[i].Base = &frame[0]
		m.vectors[i].SetLen(len(frame))
	}
	sent, _, errno := unix.RawSyscall6(unix.SYS_SENDMMSG, uintptr(fd), uintptr(unsafe.Pointer(&m.headers[0])),
		uintptr(len(buffers)), unix.MSG_DONTWAIT, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(sent), 0
}

// details are what the kernel tells of a received frame beside its bytes.
type details struct {
	wallNS             int64 // receive timestamp, Unix time; 0: none
	vlan               bool
	vlanTCI, vlanTPID  uint16
	checksumUnfinished bool
}

func (m *messages) details(i int) details {
	var d details
	control := m.control[i][:m.headers[i].header.Controllen]
	const head = int(unsafe.Sizeof(unix.Cmsghdr{}))
	const word = int(unsafe.Sizeof(uintptr(0)))
	for len(control) >= head {
		h := (*unix.Cmsghdr)(unsafe.Pointer(&control[0]))
		if int(h.Len) < head || int(h.Len) > len(control) {
			break
		}
		data := unsafe.Pointer(&control[head:][0])
		switch {
		case h.Level == unix.SOL_SOCKET && h.Type == unix.SCM_TIMESTAMPNS:
			d.wallNS = (*unix.Timespec)(data).Nano()
		case h.Level == unix.SOL_PACKET && h.Type == unix.PACKET_AUXDATA:
			aux := (*unix.TpacketAuxdata)(data)
			d.checksumUnfinished = aux.Status&unix.TP_STATUS_CSUMNOTREADY != 0
			if d.vlan = aux.Status&unix.TP_STATUS_VLAN_VALID != 0; d.vlan {
				d.vlanTCI, d.vlanTPID = aux.Vlan_tci, unix.ETH_P_8021Q
				if aux.Status&unix.TP_STATUS_VLAN_TPID_VALID != 0 {
					d.vlanTPID = aux.Vlan_tpid
				}
			}
		}
		control = control[min(len(control), (int(h.Len)+word-1)&^(word-1)):]
	}
	return d
}
