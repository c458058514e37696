package endpoint

import (
	"context"
	"net"
	"sync"

	"ncp-testbed/internal/sockets"
)

// tcpDialer connects from an endpoint's local address to its remote one, again
// whenever that connection breaks.
type tcpDialer struct {
	endpoint Endpoint
	packet   sizes
}

func (d tcpDialer) waits() bool  { return false }
func (d tcpDialer) stream() bool { return true }
func (d tcpDialer) close()       {}

func (d tcpDialer) open(ctx context.Context, waiting func(error)) (socket, error) {
	missing := func(err error) bool { return sockets.MissingNetwork(err) || sockets.MissingPeer(err) }
	return sockets.Retry(ctx, waiting, missing, func() (socket, error) { return d.dial(ctx) })
}

func (d tcpDialer) dial(ctx context.Context) (socket, error) {
	dialer := net.Dialer{
		LocalAddr: net.TCPAddrFromAddrPort(d.endpoint.Local),
		// The port may be that of a connection that ended a moment ago.
		Control: sockets.Prepare(sockets.ReuseAddress),
	}
	conn, err := dialer.DialContext(ctx, "tcp", d.endpoint.Remote.String())
	if err != nil {
		return nil, err
	}
	return newTCPSocket(conn.(*net.TCPConn), d.endpoint, d.packet)
}

// tcpListener takes the peer's connections at an endpoint's local address.
// When the peer connects anew while it seems connected, its old connection has
// broken where this end can't see it: the new one takes its place.
type tcpListener struct {
	endpoint Endpoint
	packet   sizes
	listener *net.TCPListener
	accepted chan *net.TCPConn // the newest; closed when there will be none

	mu      sync.Mutex
	current socket
}

// listenTCP listens on the endpoint's local address.
func listenTCP(e Endpoint, packet sizes) (*tcpListener, error) {
	listener, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(e.Local))
	if err != nil {
		return nil, err
	}
	l := &tcpListener{endpoint: e, packet: packet, listener: listener, accepted: make(chan *net.TCPConn, 1)}
	go l.accept()
	return l, nil
}

func (l *tcpListener) waits() bool  { return true }
func (l *tcpListener) stream() bool { return true }
func (l *tcpListener) close()       { l.listener.Close() }

// accept takes the peer's connections until the listener is closed.
func (l *tcpListener) accept() {
	defer func() {
		close(l.accepted)
		for conn := range l.accepted {
			conn.Close()
		}
	}()
	for {
		conn, err := sockets.Accept(l.listener, l.endpoint.Remote.Addr())
		if err != nil {
			return
		}
		select {
		case older := <-l.accepted:
			older.Close()
		default:
		}
		l.mu.Lock()
		current := l.current // before another takes its place
		l.mu.Unlock()
		l.accepted <- conn
		if current != nil {
			current.abort()
		}
	}
}

func (l *tcpListener) open(ctx context.Context, _ func(error)) (socket, error) {
	select {
	case conn, ok := <-l.accepted:
		if !ok {
			return nil, net.ErrClosed
		}
		s, err := newTCPSocket(conn, l.endpoint, l.packet)
		if err != nil {
			return nil, err
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.current = s
		return s, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
