package endpoint

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
	"golang.org/x/sys/unix"

	"ncp-testbed/internal/sockets"
)

// udpOpener opens an endpoint's one UDP socket.
type udpOpener struct {
	endpoint Endpoint
	packet   sizes
}

func (o udpOpener) waits() bool  { return false }
func (o udpOpener) stream() bool { return false }
func (o udpOpener) close()       {}

func (o udpOpener) open(ctx context.Context, waiting func(error)) (socket, error) {
	return sockets.Retry(ctx, waiting, sockets.MissingNetwork, func() (socket, error) { return openUDP(o.endpoint, o.packet) })
}

// batchConn is what ipv4 and ipv6 share.
type batchConn interface {
	ReadBatch([]ipv4.Message, int) (int, error)
	WriteBatch([]ipv4.Message, int) (int, error)
}

// udpSocket sends each packet as a datagram, several by one sendmmsg. Where no
// send buffer has to be kept, equal datagrams are handed to the kernel, and
// come from it, as one buffer (see segments.go).
type udpSocket struct {
	granted
	udp   *net.UDPConn
	batch batchConn

	out      []ipv4.Message // of one write
	runs     []int          // packets in each
	segments int            // most in one; 1: no segmentation
	in       []ipv4.Message // of one read
	packets  [][]byte
}

func openUDP(e Endpoint, packet sizes) (*udpSocket, error) {
	udp, err := net.DialUDP("udp", net.UDPAddrFromAddrPort(e.Local), net.UDPAddrFromAddrPort(e.Remote))
	if err != nil {
		return nil, err
	}
	s := &udpSocket{udp: udp, batch: ipv4.NewPacketConn(udp), segments: 1, out: make([]ipv4.Message, maxBatch)}
	if e.Local.Addr().Is6() {
		s.batch = ipv6.NewPacketConn(udp)
	}
	if err := s.sizeBuffers(e, packet.full); err != nil {
		udp.Close()
		return nil, err
	}
	for i := range s.out {
		s.out[i].OOB = make([]byte, 0, segmentControl)
	}
	reads, bytes := maxBatch, packet.largest
	if e.SendBufferPackets == 0 && s.joinSegments() {
		reads, bytes = joinedReads, maxDatagram
	}
	s.in = make([]ipv4.Message, reads)
	for i := range s.in {
		s.in[i] = ipv4.Message{Buffers: [][]byte{make([]byte, bytes)}, OOB: make([]byte, joinedControl)}
	}
	return s, nil
}

func (s *udpSocket) closeWrite()        {}
func (s *udpSocket) shut(time.Duration) { s.udp.Close() }
func (s *udpSocket) abort()             { s.udp.Close() }
func (s *udpSocket) close()             { s.udp.Close() }

func (s *udpSocket) read() ([][]byte, error) {
	n, err := s.batch.ReadBatch(s.in, 0)
	if err != nil {
		return nil, err
	}
	s.packets = s.packets[:0]
	for i := range s.in[:n] {
		m := &s.in[i]
		s.packets = appendSegments(s.packets, m.Buffers[0][:m.N], m.OOB[:m.NN])
	}
	return s.packets, nil
}

func (s *udpSocket) write(packets [][]byte) (taken int, err error) {
	s.runs = s.runs[:0]
	for rest := packets; len(rest) > 0 && len(s.runs) < len(s.out); {
		run := runLength(rest, s.segments)
		m := &s.out[len(s.runs)]
		m.Buffers, m.OOB = rest[:run], m.OOB[:0]
		if run > 1 {
			m.OOB = appendSegmentSize(m.OOB, len(rest[0]))
		}
		s.runs = append(s.runs, run)
		rest = rest[run:]
	}
	n, err := s.batch.WriteBatch(s.out[:len(s.runs)], 0)
	if err != nil && s.segments > 1 && refusesSegments(err) {
		s.segments = 1
		return s.write(packets)
	}
	if err != nil {
		return 0, err
	}
	for _, run := range s.runs[:n] {
		taken += run
	}
	return taken, nil
}

func (s *udpSocket) sizeBuffers(e Endpoint, datagram int) error {
	return sockets.Control(s.udp, func(fd int) error {
		if err := s.sizeReceiveBuffer(fd, e.ReceiveBufferBytes); err != nil || e.SendBufferPackets == 0 {
			return err
		}
		return s.sizeSendBuffer(fd, e, datagram)
	})
}

func (s *udpSocket) sizeReceiveBuffer(fd, bytes int) error {
	if bytes == 0 {
		return nil
	}
	granted, err := sockets.SetBuffer(fd, unix.SO_RCVBUFFORCE, unix.SO_RCVBUF, bytes)
	if err == nil && granted < bytes/4 {
		s.warn("receive buffer is %d bytes, requested were %d: raise net.core.rmem_max", granted, bytes)
	}
	return err
}

// sizeSendBuffer makes room for the endpoint's packets. The kernel lets a
// packet in while what is held is less than the buffer, and counts each as its
// skb's truesize, 2304 bytes for a 1 KiB datagram; so N packets fit when the
// buffer is between N−1 and N truesizes. The kernel doubles the requested value.
//
// A waiting writer is woken only when the buffer has drained to half, so a
// sender that never rests keeps between N/2 and N packets there.
func (s *udpSocket) sizeSendBuffer(fd int, e Endpoint, datagram int) error {
	truesize, err := measureTruesize(e, datagram)
	if err != nil {
		return fmt.Errorf("measuring a packet's size in the kernel: %w", err)
	}
	want := truesize*(e.SendBufferPackets-1) + truesize/2
	granted, err := sockets.SetBuffer(fd, unix.SO_SNDBUFFORCE, unix.SO_SNDBUF, (want+1)/2)
	if err != nil {
		return err
	}
	if held := (granted + truesize - 1) / truesize; held != e.SendBufferPackets {
		s.warn("send buffer holds %d packets of %d bytes, requested were %d: see net.core.wmem_max", held, truesize, e.SendBufferPackets)
	}
	return nil
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
	held := 0
	err = sockets.Control(udp, func(fd int) (err error) {
		if err = unix.SetsockoptInt(fd, unix.IPPROTO_UDP, unix.UDP_CORK, 1); err != nil {
			return err
		}
		if err = unix.Send(fd, make([]byte, datagram), 0); err != nil {
			return err
		}
		held, err = unix.IoctlGetInt(fd, unix.SIOCOUTQ)
		return err
	})
	if err != nil {
		return 0, err
	}
	if held <= 0 {
		return 0, errors.New("the kernel counts nothing for a corked datagram")
	}
	return held, nil
}

func (s *udpSocket) transient(err error) bool { return sockets.TransientUDP(err) }
