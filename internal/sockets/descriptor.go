package sockets

import (
	"errors"
	"net"
	"net/netip"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Control calls f with a socket's descriptor, which stays open meanwhile, and returns its error or that of a socket that
// is closed.
func Control(c syscall.Conn, f func(fd int) error) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	return ControlRaw(raw, f)
}

// ControlRaw is Control of a connection with a RawConn.
func ControlRaw(raw syscall.RawConn, f func(fd int) error) error {
	var failed error
	err := raw.Control(func(fd uintptr) { failed = f(int(fd)) })
	return errors.Join(err, failed)
}

// Prepare returns the hook of a net.Dialer or net.ListenConfig that calls f with a socket before it is bound.
func Prepare(f func(fd int) error) func(network, address string, raw syscall.RawConn) error {
	return func(_, _ string, raw syscall.RawConn) error { return ControlRaw(raw, f) }
}

// ReuseAddress lets a socket be bound to an address where another is, or was a moment ago.
func ReuseAddress(fd int) error {
	return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
}

// Accept waits for a connection of the peer, or of anybody with an invalid address; those of others it closes. It fails
// only when the listener is closed: a process may be out of file descriptors for a while.
func Accept(listener *net.TCPListener, peer netip.Addr) (*net.TCPConn, error) {
	for {
		conn, err := listener.AcceptTCP()
		switch {
		case errors.Is(err, net.ErrClosed):
			return nil, err
		case err != nil:
			time.Sleep(OpenPause)
		case !peer.IsValid() || conn.RemoteAddr().(*net.TCPAddr).AddrPort().Addr().Unmap() == peer.Unmap():
			return conn, nil
		default:
			conn.Close()
		}
	}
}
