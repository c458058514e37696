package endpoint

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"ncp-testbed/internal/sockets"
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
	// ReceiveBufferBytes is requested for UDP, of which the kernel grants twice as much; 0 leaves its default.
	ReceiveBufferBytes int
}

// sizes are those of a session's packets in bytes: of a full data packet, and
// of the largest that there may be.
type sizes struct{ full, largest int }

// socket is an open Endpoint. One goroutine reads from it and one writes.
type socket interface {
	// read waits for packets and returns those that are there; they are good
	// until the next call.
	read() (packets [][]byte, err error)
	// write sends packets and returns how many were taken, fewer than given when
	// it would have to wait for more room, but at least one.
	write(packets [][]byte) (taken int, err error)
	// transient reports whether an error is not the socket's own, but an earlier
	// packet's.
	transient(error) bool
	// closeWrite says that no packet will follow.
	closeWrite()
	// shut ends reading and writing, within the time given for what is under
	// way.
	shut(grace time.Duration)
	// abort closes a socket that broke: what is under way is lost.
	abort()
	close()
	warnings() []string
}

// opener makes an endpoint's sockets: the first, and for a stream another one
// each time that it breaks.
type opener interface {
	// open waits until there is a socket, and reports what it waits for.
	open(ctx context.Context, waiting func(error)) (socket, error)
	// waits: open waits for the peer to connect.
	waits() bool
	// stream: after an error a socket can't go on, and open makes another.
	stream() bool
	close()
}

// newOpener prepares an endpoint, waiting until its local address exists where
// it has to be bound already.
func newOpener(ctx context.Context, e Endpoint, packet sizes, waiting func(error)) (opener, error) {
	switch e.Transport {
	case TCPDial:
		return tcpDialer{e, packet}, nil
	case TCPListen:
		return sockets.Retry(ctx, waiting, sockets.MissingNetwork, func() (*tcpListener, error) { return listenTCP(e, packet) })
	default:
		return udpOpener{e, packet}, nil
	}
}

// granted notes what the kernel did not grant.
type granted struct{ said []string }

func (g *granted) warn(format string, args ...any) {
	g.said = append(g.said, fmt.Sprintf(format, args...))
}

func (g *granted) warnings() []string { return g.said }
