package endpoint

import (
	"net"
	"os"
	"syscall"
	"time"

	"ncp-testbed/internal/sockets"
	"ncp-testbed/ncp-agent/wire"

	"golang.org/x/sys/unix"
)

// tcpSocket sends packets as frames over one TCP connection.
type tcpSocket struct {
	granted
	conn    *net.TCPConn
	raw     syscall.RawConn
	in      *wire.FrameReader
	packets [][]byte // of one read

	out         []byte // of one write: frames, where they end, how far they went
	ends        []int
	went, limit int
	inner       error
	attempt     func(fd uintptr) bool // tryWrite; one value, so that a write allocates nothing
}

// newTCPSocket takes over a connection.
//
// A full link shall make writes wait, as it does with UDP. SO_SNDBUF would
// count what is in flight too, and so bound the rate to buffer/RTT; it stays
// the kernel's own choice. TCP_NOTSENT_LOWAT bounds what waits to be sent: the
// kernel begins no new segment while that much waits, and wakes the writer at
// half of it. What TCP has in flight comes on top, as its congestion control
// decides; and since the kernel fills a segment that it has begun, up to
// 64 KiB more than the bound may wait.
func newTCPSocket(conn *net.TCPConn, e Endpoint, packet sizes) (socket, error) {
	raw, err := conn.SyscallConn()
	if err == nil && e.SendBufferPackets > 0 {
		notSent := e.SendBufferPackets * (wire.FrameHeaderBytes + packet.full)
		err = sockets.ControlRaw(raw, func(fd int) error {
			return os.NewSyscallError("setsockopt TCP_NOTSENT_LOWAT", unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, notSent))
		})
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	s := &tcpSocket{conn: conn, raw: raw, in: wire.NewFrameReader(packet.largest)}
	s.attempt = s.tryWrite
	return s, nil
}

func (s *tcpSocket) read() ([][]byte, error) {
	s.packets = s.packets[:0]
	for {
		for {
			packet, ok, err := s.in.Next()
			if err != nil && len(s.packets) == 0 {
				return nil, err
			}
			if !ok {
				break
			}
			s.packets = append(s.packets, packet)
		}
		if len(s.packets) > 0 {
			return s.packets, nil
		}
		if err := s.in.Fill(s.conn); err != nil {
			return nil, err
		}
	}
}

// write takes what the kernel takes at once, but at least one packet, and
// whole ones only.
func (s *tcpSocket) write(packets [][]byte) (taken int, err error) {
	s.out, s.ends = s.out[:0], s.ends[:0]
	for _, packet := range packets {
		s.out = wire.AppendFrame(s.out, packet)
		s.ends = append(s.ends, len(s.out))
	}
	s.went, s.limit, s.inner = 0, len(s.out), nil
	if err := s.raw.Write(s.attempt); err != nil {
		return 0, err
	}
	if s.inner != nil {
		return 0, os.NewSyscallError("write", s.inner)
	}
	for taken < len(s.ends) && s.ends[taken] <= s.went {
		taken++
	}
	return taken, nil
}

// tryWrite writes out up to the limit. When the kernel takes no more it moves
// the limit to the end of the packet that is under way, and returns false to be
// called again once there is room.
func (s *tcpSocket) tryWrite(fd uintptr) (done bool) {
	for s.went < s.limit {
		n, err := unix.Write(int(fd), s.out[s.went:s.limit])
		switch err {
		case nil:
			s.went += n
		case unix.EINTR:
		case unix.EAGAIN:
			for _, end := range s.ends {
				if end >= s.went && end > 0 {
					s.limit = end
					break
				}
			}
			if s.went < s.limit {
				return false
			}
		default:
			s.inner = err
			return true
		}
	}
	return true
}

func (s *tcpSocket) transient(error) bool     { return false }
func (s *tcpSocket) closeWrite()              { s.conn.CloseWrite() }
func (s *tcpSocket) shut(grace time.Duration) { s.conn.SetDeadline(time.Now().Add(grace)) }
func (s *tcpSocket) close()                   { s.conn.Close() }

// abort resets the connection, so that its addresses can be used again at once.
func (s *tcpSocket) abort() {
	s.conn.SetLinger(0)
	s.conn.Close()
}
