package netstat

import (
	"encoding/binary"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Socket is what the kernel reports of an IPv4 socket.
type Socket struct {
	Local, Remote      netip.AddrPort
	Cookie             uint64 // tells it from any other, now and later
	SendQueueBytes     uint32 // SIOCOUTQ: TCP not acknowledged, UDP not left (with the kernel's own overhead)
	ReceiveQueueBytes  uint32 // SIOCINQ
	SendBufferBytes    uint32
	ReceiveBufferBytes uint32
	Drops              uint32        // cumulative
	TCP                *unix.TCPInfo // of a TCP socket, if requested
	CongestionControl  string        // likewise
}

// Attributes of a socket and of the question for it, see linux/inet_diag.h.
const (
	diagInfo, diagCongestionControl, diagMemory = 2, 4, 7

	sizeofSocketQuestion = 56
	sizeofSocketAnswer   = 72
	allStates            = 0xfff
	listening            = 1 << 10
	timeWait             = 1 << 6
)

// socketQuestion is a struct inet_diag_req_v2 that asks for all IPv4 sockets of a protocol.
func socketQuestion(protocol, extensions uint8) []byte {
	body := make([]byte, sizeofSocketQuestion)
	body[0], body[1], body[2] = unix.AF_INET, protocol, extensions
	binary.NativeEndian.PutUint32(body[4:], allStates&^(listening|timeWait))
	return body
}

func extension(of int) uint8 { return 1 << (of - 1) }

// Sockets returns the UDP (IPPROTO_UDP) or TCP (IPPROTO_TCP) sockets of IPv4 that may carry data, with what is
// queued in them; with info, TCP_INFO and the congestion control as well.
func (n *Namespace) Sockets(protocol uint8, info bool) ([]Socket, error) {
	extensions := extension(diagMemory)
	if info {
		extensions |= extension(diagInfo) | extension(diagCongestionControl)
	}
	var found []Socket
	err := n.dump(unix.SOCK_DIAG_BY_FAMILY, socketQuestion(protocol, extensions), func(body []byte) error {
		s, err := decodeSocket(body)
		if err == nil {
			found = append(found, s)
		}
		return err
	})
	return found, err
}

// decodeSocket reads a struct inet_diag_msg and its attributes.
func decodeSocket(body []byte) (Socket, error) {
	var info, memory, congestionControl []byte
	err := each(body, sizeofSocketAnswer, func(kind uint16, value []byte) {
		switch kind {
		case diagInfo:
			info = value
		case diagMemory:
			memory = value
		case diagCongestionControl:
			congestionControl = value
		}
	})
	if err != nil {
		return Socket{}, err
	}
	s := Socket{
		Local: endpoint(body[4:6], body[8:12]), Remote: endpoint(body[6:8], body[24:28]),
		Cookie: u64(body, 44), ReceiveQueueBytes: u32(body, 56), SendQueueBytes: u32(body, 60),
		CongestionControl: text(congestionControl),
	}
	// SK_MEMINFO_*: 1 is the receive buffer, 3 the send buffer, 8 the drops.
	s.ReceiveBufferBytes, s.SendBufferBytes, s.Drops = u32(memory, 4), u32(memory, 12), u32(memory, 32)
	if len(info) > 0 {
		s.TCP = decodeTCPInfo(info)
	}
	return s, nil
}

// endpoint takes port and address as they are on the wire.
func endpoint(port, address []byte) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte(address)), binary.BigEndian.Uint16(port))
}

// decodeTCPInfo reads a struct tcp_info, of which an older kernel tells less and a newer one more.
func decodeTCPInfo(value []byte) *unix.TCPInfo {
	info := new(unix.TCPInfo)
	copy(unsafe.Slice((*byte)(unsafe.Pointer(info)), unsafe.Sizeof(*info)), value)
	return info
}
