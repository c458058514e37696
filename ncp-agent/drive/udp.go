package drive

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
	"golang.org/x/sys/unix"
)

// receiveBufferBytes is asked for each socket: a reader that is late by 50 ms
// at 1 Gbit/s finds 6 MB, and the kernel counts about twice that.
const receiveBufferBytes = 8 << 20

// udpSocket sends each packet as a datagram, several by one sendmmsg.
type udpSocket struct {
	packetConn
	granted
	udp *net.UDPConn
}

func openUDP(e Endpoint, packet sizes) (*udpSocket, error) {
	udp, err := net.DialUDP("udp", net.UDPAddrFromAddrPort(e.Local), net.UDPAddrFromAddrPort(e.Remote))
	if err != nil {
		return nil, err
	}
	s := &udpSocket{packetConn: ipv4.NewPacketConn(udp), udp: udp}
	if e.Local.Addr().Is6() {
		s.packetConn = ipv6.NewPacketConn(udp)
	}
	if err := s.sizeBuffers(e, packet.full); err != nil {
		udp.Close()
		return nil, err
	}
	return s, nil
}

func (s *udpSocket) stream() bool       { return false }
func (s *udpSocket) closeWrite()        {}
func (s *udpSocket) shut(time.Duration) { s.udp.Close() }
func (s *udpSocket) close()             { s.udp.Close() }

func (s *udpSocket) sizeBuffers(e Endpoint, datagram int) error {
	raw, err := s.udp.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	err = raw.Control(func(fd uintptr) {
		if inner = s.sizeReceiveBuffer(int(fd)); inner == nil && e.SendBufferPackets > 0 {
			inner = s.sizeSendBuffer(int(fd), e, datagram)
		}
	})
	return errors.Join(err, inner)
}

func (s *udpSocket) sizeReceiveBuffer(fd int) error {
	granted, err := setBuffer(fd, unix.SO_RCVBUFFORCE, unix.SO_RCVBUF, receiveBufferBytes)
	if err == nil && granted < receiveBufferBytes/4 {
		s.warn("receive buffer is %d bytes, %d were asked: raise net.core.rmem_max", granted, receiveBufferBytes)
	}
	return err
}

// sizeSendBuffer makes room for the endpoint's packets. The kernel lets a
// packet in while what is held is less than the buffer, and counts each as its
// skb's truesize, 2304 bytes for a 1 KiB datagram; so N packets fit when the
// buffer is between N−1 and N truesizes. The kernel doubles the value asked.
//
// A waiting writer is woken only when the buffer has drained to half, so a
// sender that never rests keeps between N/2 and N packets there.
func (s *udpSocket) sizeSendBuffer(fd int, e Endpoint, datagram int) error {
	truesize, err := measureTruesize(e, datagram)
	if err != nil {
		return fmt.Errorf("measuring a packet's size in the kernel: %w", err)
	}
	want := truesize*(e.SendBufferPackets-1) + truesize/2
	granted, err := setBuffer(fd, unix.SO_SNDBUFFORCE, unix.SO_SNDBUF, (want+1)/2)
	if err != nil {
		return err
	}
	if held := (granted + truesize - 1) / truesize; held != e.SendBufferPackets {
		s.warn("send buffer holds %d packets of %d bytes, %d were asked: see net.core.wmem_max", held, truesize, e.SendBufferPackets)
	}
	return nil
}

// setBuffer sizes a socket buffer, beyond the system's limit where the process
// may, and gives the size granted, as the kernel counts it.
func setBuffer(fd, force, plain, bytes int) (granted int, err error) {
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, force, bytes) != nil {
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, plain, bytes); err != nil {
			return 0, os.NewSyscallError("setsockopt", err)
		}
	}
	granted, err = unix.GetsockoptInt(fd, unix.SOL_SOCKET, plain)
	return granted, os.NewSyscallError("getsockopt", err)
}

// measureTruesize finds what the kernel counts for one datagram of that many
// bytes towards the endpoint: a corked socket holds it without sending, and
// drops it when it is closed.
func measureTruesize(e Endpoint, datagram int) (int, error) {
	local := netip.AddrPortFrom(e.Local.Addr(), 0)
	udp, err := net.DialUDP("udp", net.UDPAddrFromAddrPort(local), net.UDPAddrFromAddrPort(e.Remote))
	if err != nil {
		return 0, err
	}
	defer udp.Close()
	raw, err := udp.SyscallConn()
	if err != nil {
		return 0, err
	}
	held := 0
	var inner error
	err = raw.Control(func(fd uintptr) {
		if inner = unix.SetsockoptInt(int(fd), unix.IPPROTO_UDP, unix.UDP_CORK, 1); inner != nil {
			return
		}
		if inner = unix.Send(int(fd), make([]byte, datagram), 0); inner != nil {
			return
		}
		held, inner = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ)
	})
	if err := errors.Join(err, inner); err != nil {
		return 0, err
	}
	if held <= 0 {
		return 0, errors.New("the kernel counts nothing for a corked datagram")
	}
	return held, nil
}

// transient tells errors that a later packet may not meet: those that an ICMP
// message left on the socket, of a peer that is not up yet or has gone. They
// stand for an earlier packet, not for the one being sent or received.
func (s *udpSocket) transient(err error) bool {
	return isAny(err, unix.ECONNREFUSED, unix.EHOSTUNREACH, unix.EHOSTDOWN, unix.EPROTO, unix.EINTR)
}
