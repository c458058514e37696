package faces

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"syscall"

	"ncp-testbed/internal/sockets"
	"ncp-testbed/ndn-agent/marking"

	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
	"golang.org/x/sys/unix"
)

const (
	// receiveBufferBytes is requested for each socket: a reader that is late by
	// 50 ms at 600 Mbit/s finds 4 MB.
	receiveBufferBytes = 4 << 20
	udpBatch           = 16 // datagrams of one read
	maxDatagram        = 1<<16 - 1
)

var errFull = errors.New("the socket's send buffer is full")

// udpTransport is a connected UDP socket that never waits.
type udpTransport struct {
	conn *net.UDPConn
	raw  syscall.RawConn

	frame   []byte // of one send
	err     error
	attempt func(fd uintptr) bool // one value, so that a send allocates nothing
	queued  int
	look    func(fd uintptr)
}

func newUDP(conn *net.UDPConn, sendBufferBytes int) (*udpTransport, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		conn.Close()
		return nil, err
	}
	err = sockets.ControlRaw(raw, func(fd int) error {
		if _, err := sockets.SetBuffer(fd, unix.SO_RCVBUFFORCE, unix.SO_RCVBUF, receiveBufferBytes); err != nil {
			return err
		}
		return setSendBuffer(fd, sendBufferBytes)
	})
	if err != nil {
		conn.Close()
		return nil, err
	}
	t := &udpTransport{conn: conn, raw: raw}
	t.attempt, t.look = t.trySend, t.readQueue
	return t, nil
}

// setSendBuffer requests a send buffer of that size; 0 leaves the kernel's default.
func setSendBuffer(fd, bytes int) error {
	if bytes == 0 {
		return nil
	}
	_, err := sockets.SetBuffer(fd, unix.SO_SNDBUFFORCE, unix.SO_SNDBUF, bytes)
	return err
}

// send sends a datagram now or never: what finds the buffer full is dropped,
// as it would be in a router's queue.
func (t *udpTransport) send(frame []byte) error {
	t.frame, t.err = frame, nil
	if err := t.raw.Write(t.attempt); err != nil {
		return err
	}
	return t.err
}

func (t *udpTransport) trySend(fd uintptr) bool {
	for range 3 { // what an ICMP message left stands for an earlier packet
		_, err := unix.Write(int(fd), t.frame)
		switch {
		case err == nil:
			t.err = nil
			return true
		case err == unix.EAGAIN || err == unix.ENOBUFS:
			t.err = errFull
			return true
		case sockets.TransientUDP(err):
			t.err = err
		default:
			t.err = os.NewSyscallError("write", err)
			return true
		}
	}
	return true
}

func (t *udpTransport) queue() marking.Queue {
	t.queued = 0
	t.raw.Control(t.look)
	return marking.Queue{KernelBytes: t.queued}
}

func (t *udpTransport) readQueue(fd uintptr) {
	t.queued, _ = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ)
}

func (t *udpTransport) close() { t.conn.Close() }

// runUDP opens the face's socket, waiting for its addresses, and reads.
func (f *Face) runUDP(ctx context.Context, waiting func(error), open func()) error {
	t, err := sockets.Retry(ctx, waiting, sockets.MissingNetwork, func() (*udpTransport, error) {
		conn, err := dialUDP(ctx, f.Config.Local, f.Config.Remote)
		if err != nil {
			return nil, err
		}
		return newUDP(conn, f.Config.SendBufferBytes)
	})
	if err != nil {
		return err
	}
	f.up(t)
	open()
	defer f.down(t)
	stop := context.AfterFunc(ctx, t.close)
	defer stop()
	return f.readUDP(t)
}

// dialUDP connects a socket; others may be bound to the same address, such as
// the one that listens for new peers.
func dialUDP(ctx context.Context, local, remote netip.AddrPort) (*net.UDPConn, error) {
	dialer := net.Dialer{Control: sockets.Prepare(sockets.ReuseAddress)}
	if local.IsValid() {
		dialer.LocalAddr = net.UDPAddrFromAddrPort(local)
	}
	conn, err := dialer.DialContext(ctx, "udp", remote.String())
	if err != nil {
		return nil, err
	}
	return conn.(*net.UDPConn), nil
}

// batchReader is what ipv4 and ipv6 share.
type batchReader interface {
	ReadBatch([]ipv4.Message, int) (int, error)
}

func newBatchReader(conn *net.UDPConn) (batchReader, []ipv4.Message) {
	messages := make([]ipv4.Message, udpBatch)
	for i := range messages {
		messages[i].Buffers = [][]byte{make([]byte, maxDatagram)}
	}
	if conn.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Is4() {
		return ipv4.NewPacketConn(conn), messages
	}
	return ipv6.NewPacketConn(conn), messages
}

// readUDP reads until the socket is closed.
func (f *Face) readUDP(t *udpTransport) error {
	reader, messages := newBatchReader(t.conn)
	for {
		n, err := reader.ReadBatch(messages, 0)
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil && !sockets.TransientUDP(err) {
			return err
		}
		f.engine.mu.Lock()
		now := f.engine.now()
		if err != nil {
			f.counters.Errors++
			n = 0
		}
		for i := range messages[:max(n, 0)] {
			f.receive(now, messages[i].Buffers[0][:messages[i].N])
		}
		f.engine.mu.Unlock()
	}
}
