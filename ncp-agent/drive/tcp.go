package drive

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/net/ipv4"
	"golang.org/x/sys/unix"
)

// tcpSocket sends packets as frames over one TCP connection. An end that
// listens is open before its peer has connected: the first read accepts it,
// writes wait for that. A connection that breaks is not made again.
type tcpSocket struct {
	granted
	endpoint Endpoint
	notSent  int // bytes that the kernel may hold unsent; 0: any number
	in       *frames

	out         []byte // of one WriteBatch: frames, where they end, how far they went
	ends        []int
	went, limit int
	inner       error
	attempt     func(fd uintptr) bool // tryWrite; one value, so that a write allocates nothing

	mu        sync.Mutex
	listener  *net.TCPListener // until the peer has connected
	conn      *net.TCPConn
	raw       syscall.RawConn
	connected chan struct{} // closed when conn and raw are there
	ended     chan struct{} // closed when they will never be
}

func newTCPSocket(e Endpoint, packet sizes) *tcpSocket {
	s := &tcpSocket{
		endpoint: e, in: newFrames(packet.largest), notSent: e.SendBufferPackets * (frameHeader + packet.full),
		connected: make(chan struct{}), ended: make(chan struct{}),
	}
	s.attempt = s.tryWrite
	return s
}

// dialTCP connects from the endpoint's local address to its remote one.
func dialTCP(ctx context.Context, e Endpoint, packet sizes) (*tcpSocket, error) {
	dialer := net.Dialer{
		LocalAddr: net.TCPAddrFromAddrPort(e.Local),
		// The port may be that of a connection that ended a moment ago.
		Control: func(_, _ string, raw syscall.RawConn) error {
			var inner error
			err := raw.Control(func(fd uintptr) {
				inner = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
			})
			return errors.Join(err, inner)
		},
	}
	conn, err := dialer.DialContext(ctx, "tcp", e.Remote.String())
	if err != nil {
		return nil, err
	}
	s := newTCPSocket(e, packet)
	if err := s.take(conn.(*net.TCPConn)); err != nil {
		conn.Close()
		return nil, err
	}
	return s, nil
}

// listenTCP listens on the endpoint's local address.
func listenTCP(e Endpoint, packet sizes) (*tcpSocket, error) {
	listener, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(e.Local))
	if err != nil {
		return nil, err
	}
	s := newTCPSocket(e, packet)
	s.listener = listener
	return s, nil
}

// take makes conn the socket's connection.
//
// A full link shall make writes wait, as it does with UDP. SO_SNDBUF would
// count what is in flight too, and so bound the rate to buffer/RTT; it stays
// the kernel's own choice. TCP_NOTSENT_LOWAT bounds what waits to be sent: the
// kernel begins no new segment while that much waits, and wakes the writer at
// half of it. What TCP has in flight comes on top, as its congestion control
// decides; and since the kernel fills a segment that it has begun, up to
// 64 KiB more than the bound may wait.
func (s *tcpSocket) take(conn *net.TCPConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	if s.notSent > 0 {
		var inner error
		err := raw.Control(func(fd uintptr) {
			inner = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, s.notSent)
		})
		if err := errors.Join(err, os.NewSyscallError("setsockopt TCP_NOTSENT_LOWAT", inner)); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.ended:
		return net.ErrClosed
	default:
	}
	s.conn, s.raw = conn, raw
	close(s.connected)
	return nil
}

// accept waits for the peer; others than it are turned away.
func (s *tcpSocket) accept() error {
	for {
		conn, err := s.listener.AcceptTCP()
		if err != nil {
			return err
		}
		remote := conn.RemoteAddr().(*net.TCPAddr).AddrPort().Addr().Unmap()
		if remote != s.endpoint.Remote.Addr().Unmap() {
			conn.Close()
			continue
		}
		if err := s.take(conn); err != nil {
			conn.Close()
			return err
		}
		return s.listener.Close()
	}
}

func (s *tcpSocket) isConnected() bool {
	select {
	case <-s.connected:
		return true
	default:
		return false
	}
}

// ReadBatch gives what has arrived, at least one packet.
func (s *tcpSocket) ReadBatch(messages []ipv4.Message, _ int) (int, error) {
	if !s.isConnected() {
		if err := s.accept(); err != nil {
			return 0, err
		}
	}
	for n := 0; ; {
		for n < len(messages) {
			packet, ok, err := s.in.next()
			if err != nil && n == 0 {
				return 0, err
			}
			if !ok {
				break
			}
			messages[n].N = copy(messages[n].Buffers[0], packet)
			n++
		}
		if n > 0 {
			return n, nil
		}
		if err := s.in.fill(s.conn); err != nil {
			return 0, err
		}
	}
}

// WriteBatch writes what the kernel takes at once, but at least one packet,
// and whole ones only.
func (s *tcpSocket) WriteBatch(messages []ipv4.Message, _ int) (int, error) {
	select {
	case <-s.connected:
	case <-s.ended:
		return 0, net.ErrClosed
	}
	s.out, s.ends = s.out[:0], s.ends[:0]
	for i := range messages {
		s.out = appendFrame(s.out, messages[i].Buffers[0])
		s.ends = append(s.ends, len(s.out))
	}
	s.went, s.limit, s.inner = 0, len(s.out), nil
	if err := s.raw.Write(s.attempt); err != nil {
		return 0, err
	}
	if s.inner != nil {
		return 0, os.NewSyscallError("write", s.inner)
	}
	taken := 0
	for taken < len(s.ends) && s.ends[taken] <= s.went {
		taken++
	}
	return taken, nil
}

// tryWrite writes out up to the limit. When the kernel takes no more it moves
// the limit to the end of the packet that is under way, and gives false to be
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

func (s *tcpSocket) stream() bool         { return true }
func (s *tcpSocket) transient(error) bool { return false }

func (s *tcpSocket) closeWrite() {
	if s.isConnected() {
		s.conn.CloseWrite()
	}
}

func (s *tcpSocket) shut(grace time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		s.conn.SetDeadline(time.Now().Add(grace))
		return
	}
	s.endUnconnected()
}

func (s *tcpSocket) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		s.conn.Close()
		return
	}
	s.endUnconnected()
}

// endUnconnected ends the wait for the peer. The lock is held.
func (s *tcpSocket) endUnconnected() {
	select {
	case <-s.ended:
	default:
		close(s.ended)
		s.listener.Close()
	}
}
