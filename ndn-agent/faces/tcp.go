package faces

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"ncp-testbed/internal/sockets"
	"ncp-testbed/ndn-agent/marking"
	"ncp-testbed/ndn-agent/tlv"

	"golang.org/x/sys/unix"
)

const (
	// MaxSendQueueBytes bounds what waits in the process for a TCP socket.
	MaxSendQueueBytes = 64 << 20

	reopenPause  = 100 * time.Millisecond // before a connection that broke is opened again
	streamBuffer = 256 << 10
)

// tcpTransport is a TCP connection with a queue in the process for what its
// socket has no room for.
type tcpTransport struct {
	conn *net.TCPConn
	raw  syscall.RawConn

	waiting  [][]byte // the first may be sent in part
	bytes    int
	limit    int
	more     *sync.Cond // for the writer; its lock is the engine's
	closed   bool
	rest     []byte // of one attempt
	inner    error
	attempt  func(fd uintptr) bool
	kernel   int
	unsent   int
	look     func(fd uintptr)
	spare    [][]byte // buffers to be used again
	spareMax int
}

func newTCP(e *Engine, conn *net.TCPConn, c *FaceConfig) (*tcpTransport, error) {
	raw, err := conn.SyscallConn()
	if err == nil {
		err = sockets.ControlRaw(raw, func(fd int) error { return setSendBuffer(fd, c.SendBufferBytes) })
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	t := &tcpTransport{conn: conn, raw: raw, more: sync.NewCond(&e.mu), limit: c.SendQueueBytes, spareMax: 64}
	if t.limit == 0 {
		t.limit = MaxSendQueueBytes
	}
	t.attempt, t.look = t.trySend, t.readQueue
	return t, nil
}

// send writes what the socket takes at once and queues the rest.
func (t *tcpTransport) send(frame []byte) error {
	if t.closed {
		return net.ErrClosed
	}
	if len(t.waiting) == 0 {
		t.rest, t.inner = frame, nil
		if err := t.raw.Write(t.attempt); err != nil {
			return err
		}
		if t.inner != nil {
			return t.inner
		}
		if len(t.rest) == 0 {
			return nil
		}
		frame = t.rest
	} else if t.bytes+len(frame) > t.limit {
		return errFull
	}
	t.waiting = append(t.waiting, append(t.buffer(), frame...))
	t.bytes += len(frame)
	t.more.Signal()
	return nil
}

func (t *tcpTransport) buffer() []byte {
	if n := len(t.spare); n > 0 {
		b := t.spare[n-1]
		t.spare = t.spare[:n-1]
		return b[:0]
	}
	return nil
}

func (t *tcpTransport) trySend(fd uintptr) bool {
	for len(t.rest) > 0 {
		n, err := unix.SendmsgN(int(fd), t.rest, nil, nil, unix.MSG_NOSIGNAL)
		switch err {
		case nil:
			t.rest = t.rest[n:]
		case unix.EINTR:
		case unix.EAGAIN:
			return true
		default:
			t.inner = err
			return true
		}
	}
	return true
}

// write moves the queue into the socket as it gets room, until the connection
// is closed.
func (t *tcpTransport) write() {
	t.more.L.Lock()
	defer t.more.L.Unlock()
	for {
		for len(t.waiting) == 0 && !t.closed {
			t.more.Wait()
		}
		if t.closed {
			return
		}
		first := t.waiting[0]
		t.more.L.Unlock()
		_, err := t.conn.Write(first)
		t.more.L.Lock()
		if err != nil {
			t.shut()
			return
		}
		t.waiting[0] = nil
		t.waiting = t.waiting[1:]
		t.bytes -= len(first)
		if len(t.spare) < t.spareMax {
			t.spare = append(t.spare, first)
		}
		if len(t.waiting) == 0 {
			t.waiting = nil // and its array's beginning
		}
	}
}

func (t *tcpTransport) queue() marking.Queue {
	t.kernel, t.unsent = 0, 0
	t.raw.Control(t.look)
	return marking.Queue{KernelBytes: t.kernel, UnsentBytes: t.unsent, OwnBytes: t.bytes, OwnPackets: len(t.waiting)}
}

func (t *tcpTransport) readQueue(fd uintptr) {
	t.kernel, _ = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ)
	t.unsent, _ = unix.IoctlGetInt(int(fd), unix.SIOCOUTQNSD)
}

// close ends the connection; called under the engine's lock.
func (t *tcpTransport) close() { t.shut() }

func (t *tcpTransport) shut() {
	if !t.closed {
		t.closed = true
		t.waiting, t.bytes = nil, 0
		t.conn.Close()
		t.more.Broadcast()
	}
}

// connector makes a face's connections, one after the other.
type connector interface {
	connect(ctx context.Context, waiting func(error)) (*net.TCPConn, error)
	close()
}

// runTCP keeps the face connected until ctx ends.
func (f *Face) runTCP(ctx context.Context, waiting func(error), open func(), prepare func(context.Context, func(error)) (connector, error)) error {
	c, err := prepare(ctx, waiting)
	if err != nil {
		return err
	}
	defer c.close()
	stop := context.AfterFunc(ctx, c.close)
	defer stop()
	for {
		conn, err := c.connect(ctx, waiting)
		if err != nil {
			return err
		}
		t, err := newTCP(f.engine, conn, &f.Config)
		if err != nil {
			return err
		}
		f.up(t)
		open()
		f.serveTCP(ctx, t)
		select {
		case <-time.After(reopenPause):
		case <-ctx.Done():
			return nil
		}
	}
}

// serveTCP reads and writes a connection until it breaks or ctx ends.
func (f *Face) serveTCP(ctx context.Context, t *tcpTransport) {
	shut := func() {
		f.engine.mu.Lock()
		defer f.engine.mu.Unlock()
		t.shut()
	}
	stop := context.AfterFunc(ctx, shut)
	defer stop()
	written := make(chan struct{})
	go func() {
		t.write()
		close(written)
	}()
	f.readTCP(t.conn)
	shut()
	<-written
	f.down(t)
}

// readTCP cuts a stream into link packets until it ends, or what comes is none.
func (f *Face) readTCP(conn io.Reader) {
	buffer, filled := make([]byte, streamBuffer), 0
	for {
		n, err := conn.Read(buffer[filled:])
		filled += n
		rest := buffer[:filled]
		f.engine.mu.Lock()
		now := f.engine.now()
		for {
			size, bad := tlv.Size(rest)
			if bad != nil {
				f.counters.Errors++
				f.engine.mu.Unlock()
				return
			}
			if size == 0 || size > len(rest) {
				break
			}
			f.receive(now, rest[:size])
			rest = rest[size:]
		}
		f.engine.mu.Unlock()
		filled = copy(buffer, rest)
		if err != nil {
			return
		}
	}
}

// dialer connects from the face's local address.
type dialer struct{ config FaceConfig }

func (f *Face) dialTCP(context.Context, func(error)) (connector, error) { return dialer{f.Config}, nil }

func (d dialer) close() {}

func (d dialer) connect(ctx context.Context, waiting func(error)) (*net.TCPConn, error) {
	missing := func(err error) bool { return sockets.MissingNetwork(err) || sockets.MissingPeer(err) }
	return sockets.Retry(ctx, waiting, missing, func() (*net.TCPConn, error) {
		// The port may be that of a connection that ended a moment ago.
		n := net.Dialer{Control: sockets.Prepare(sockets.ReuseAddress)}
		if d.config.Local.IsValid() {
			n.LocalAddr = net.TCPAddrFromAddrPort(d.config.Local)
		}
		conn, err := n.DialContext(ctx, "tcp", d.config.Remote.String())
		if err != nil {
			return nil, err
		}
		return conn.(*net.TCPConn), nil
	})
}

// listener takes the connections of the face's peer.
type listener struct {
	config FaceConfig
	tcp    *net.TCPListener
}

func (f *Face) listenTCP(ctx context.Context, waiting func(error)) (connector, error) {
	return sockets.Retry(ctx, waiting, sockets.MissingNetwork, func() (connector, error) {
		tcp, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(f.Config.Local))
		if err != nil {
			return nil, err
		}
		return &listener{f.Config, tcp}, nil
	})
}

func (l *listener) close() { l.tcp.Close() }

// connect waits for the peer.
func (l *listener) connect(ctx context.Context, waiting func(error)) (*net.TCPConn, error) {
	waiting(errors.New("the peer has not connected yet"))
	conn, err := sockets.Accept(l.tcp, l.config.Remote.Addr())
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return conn, err
}
