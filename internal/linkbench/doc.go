// Package linkbench measures what is between two network namespaces, whatever made it: round-trip times, the rate
// and loss of a stream, and how a middle with many links bears a load. The same instrument serves this project's
// links and those of others, so that their figures can be compared.
package linkbench

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"ncp-testbed/internal/timestamping"
)

// End is an IPv4 address within a network namespace.
type End struct {
	Namespace string // path
	Address   netip.Addr
}

// spacing is a sequence of send times around an even spacing, each drawn from half to one and a half of it: a
// link that works in steps of a clock must not meet packets that keep step with it.
type spacing struct {
	next   time.Time
	mean   time.Duration
	random *rand.Rand
}

func newSpacing(mean time.Duration) *spacing {
	return &spacing{next: time.Now(), mean: mean, random: rand.New(rand.NewPCG(1, uint64(mean)))}
}

// wait sleeps until the next packet's time.
func (s *spacing) wait() {
	if ahead := time.Until(s.next); ahead > 0 {
		time.Sleep(ahead)
	}
	s.next = s.next.Add(time.Duration((0.5 + s.random.Float64()) * float64(s.mean)))
}

// receiveTimeout makes receiving return now and then, to see whether the measurement goes on.
func receiveTimeout(fd int) error {
	pause := unix.NsecToTimeval(int64(50 * time.Millisecond))
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &pause); err != nil {
		return fmt.Errorf("SO_RCVTIMEO: %w", err)
	}
	return nil
}

// receive calls take with each message of a socket until the channel is closed, or returns why it can't.
func receive(fd int, until <-chan struct{}, take func(packet, control []byte, from unix.Sockaddr)) error {
	packet, control := make([]byte, 1<<16), make([]byte, timestamping.ControlBytes)
	for {
		select {
		case <-until:
			return nil
		default:
		}
		n, controlled, _, from, err := unix.Recvmsg(fd, packet, control, 0)
		switch {
		case err == nil:
			take(packet[:n], control[:controlled], from)
		case err != unix.EAGAIN && err != unix.EINTR: // nothing for a while
			return fmt.Errorf("receive: %w", err)
		}
	}
}

func sockaddr(a netip.Addr, port int) *unix.SockaddrInet4 {
	return &unix.SockaddrInet4{Port: port, Addr: a.As4()}
}
