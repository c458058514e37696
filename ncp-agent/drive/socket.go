package drive

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/net/ipv4"
	"golang.org/x/sys/unix"
)

// Transport is how a connection's packets travel.
type Transport int

// The transports. Of the two ends of a TCP connection one dials and one
// listens.
const (
	UDP Transport = iota
	TCPDial
	TCPListen
)

// Endpoint is one connection's socket: where it is bound and connected.
type Endpoint struct {
	Local, Remote netip.AddrPort
	Transport     Transport
	// SendBufferPackets is how many full packets the kernel shall hold before
	// a write waits; 0 leaves the kernel's default. TCP holds as many that it
	// has not sent yet, beside those in flight.
	SendBufferPackets int
}

// sizes are those of a session's packets in bytes: of a full data packet, and
// of the largest that there may be.
type sizes struct{ full, largest int }

// packetConn reads and writes packets, several at a time. It has the methods
// of ipv4.PacketConn: a write gives how many packets were taken, fewer than
// asked when it would have to wait.
type packetConn interface {
	ReadBatch([]ipv4.Message, int) (int, error)
	WriteBatch([]ipv4.Message, int) (int, error)
}

// socket is an open Endpoint.
type socket interface {
	packetConn
	// stream: after an error it can't go on. Of a socket that is no stream,
	// transient tells the errors that are not its own.
	stream() bool
	transient(error) bool
	// closeWrite says that no packet will follow.
	closeWrite()
	// shut ends reading and writing, within the time given for what is under
	// way.
	shut(grace time.Duration)
	close()
	warnings() []string
}

// openSocket opens an endpoint, waiting until its local address, a route to
// the remote one and, to dial TCP, the listener exist: an agent may start
// before its interfaces and its peer. Waiting is told each time it fails, with
// the reason.
func openSocket(ctx context.Context, e Endpoint, packet sizes, waiting func(error)) (socket, error) {
	for {
		s, err := openOnce(ctx, e, packet)
		if err == nil || !missingNetwork(err) && !(e.Transport == TCPDial && missingPeer(err)) {
			return s, err
		}
		waiting(err)
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w while waiting: %w", context.Cause(ctx), err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func openOnce(ctx context.Context, e Endpoint, packet sizes) (socket, error) {
	switch e.Transport {
	case TCPDial:
		return dialTCP(ctx, e, packet)
	case TCPListen:
		return listenTCP(e, packet)
	default:
		return openUDP(e, packet)
	}
}

// missingNetwork tells an address or a route that is not there yet.
func missingNetwork(err error) bool {
	return isAny(err, unix.EADDRNOTAVAIL, unix.ENETUNREACH, unix.EHOSTUNREACH, unix.ENETDOWN, unix.ENODEV)
}

// missingPeer tells a peer that does not listen, or not answer, yet.
func missingPeer(err error) bool {
	return isAny(err, unix.ECONNREFUSED, unix.ECONNRESET, unix.ETIMEDOUT)
}

func isAny(err error, list ...error) bool {
	for _, e := range list {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// granted notes what the kernel did not grant.
type granted struct{ said []string }

func (g *granted) warn(format string, args ...any) {
	g.said = append(g.said, fmt.Sprintf(format, args...))
}

func (g *granted) warnings() []string { return g.said }
