// Package sockets is what the agents' programs do alike with their sockets.
package sockets

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// OpenPause is between two attempts to open a socket.
const OpenPause = 50 * time.Millisecond

// Retry opens something, waiting until its local address, a route to the
// remote one and, to dial TCP, the listener exist: an agent may start before
// its interfaces and its peer. Each failure is reported, with the
// reason; missing reports whether to wait for one.
func Retry[T any](ctx context.Context, waiting func(error), missing func(error) bool, open func() (T, error)) (T, error) {
	for {
		opened, err := open()
		if err == nil || !missing(err) {
			return opened, err
		}
		waiting(err)
		select {
		case <-ctx.Done():
			return opened, fmt.Errorf("%w while waiting: %w", context.Cause(ctx), err)
		case <-time.After(OpenPause):
		}
	}
}

// MissingNetwork reports whether an address or a route is not there yet.
func MissingNetwork(err error) bool {
	return IsAny(err, unix.EADDRNOTAVAIL, unix.ENETUNREACH, unix.EHOSTUNREACH, unix.ENETDOWN, unix.ENODEV)
}

// MissingPeer reports whether a peer does not listen, or not answer, yet.
func MissingPeer(err error) bool {
	return IsAny(err, unix.ECONNREFUSED, unix.ECONNRESET, unix.ETIMEDOUT)
}

// TransientUDP reports whether a later datagram may not meet an error: one that an
// ICMP message left on the socket, of a peer that is not up yet or has gone.
// They stand for an earlier packet, not for the one being sent or received.
func TransientUDP(err error) bool {
	return IsAny(err, unix.ECONNREFUSED, unix.EHOSTUNREACH, unix.EHOSTDOWN, unix.EPROTO, unix.EINTR)
}

// IsAny reports whether an error is one of a list.
func IsAny(err error, list ...error) bool {
	for _, e := range list {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// SetBuffer sizes a socket buffer (SO_RCVBUF or SO_SNDBUF, and the option that
// forces it), beyond the system's limit where the process may, and returns the
// size granted, as the kernel counts it.
func SetBuffer(fd, force, plain, bytes int) (granted int, err error) {
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, force, bytes) != nil {
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, plain, bytes); err != nil {
			return 0, os.NewSyscallError("setsockopt", err)
		}
	}
	granted, err = unix.GetsockoptInt(fd, unix.SOL_SOCKET, plain)
	return granted, os.NewSyscallError("getsockopt", err)
}

// AttachFilter has a socket receive only what a program takes.
func AttachFilter(fd int, program []bpf.Instruction) error {
	raw, err := bpf.Assemble(program)
	if err != nil {
		return err
	}
	filter := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		filter[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	attached := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	return os.NewSyscallError("SO_ATTACH_FILTER", unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &attached))
}
