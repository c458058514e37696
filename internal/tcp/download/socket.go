package download

import (
	"context"
	"fmt"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"ncp-testbed/internal/sockets"
)

// Unsupported is what this kernel, or what it allows, can't do.
type Unsupported struct{ Reason string }

func (u Unsupported) Error() string { return u.Reason }

// useCongestionControl makes a socket, and those accepted from it, use an algorithm. The namespace's default needs
// no leave; another one may be the administrator's to choose.
func useCongestionControl(fd int, name string) error {
	if name == "" {
		return nil
	}
	if now, err := congestionControl(fd); err == nil && now == name {
		return nil
	}
	if err := unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, name); err != nil {
		return Unsupported{fmt.Sprintf("congestion control %s: %v", name, err)}
	}
	return nil
}

// congestionControl is the algorithm that a socket really uses.
func congestionControl(fd int) (string, error) {
	name, err := unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION)
	if err != nil {
		return "", fmt.Errorf("getsockopt TCP_CONGESTION: %w", err)
	}
	return name, nil
}

// setReceiveBuffer asks for SO_RCVBUF bytes, which Linux doubles. What net.core.rmem_max forbids, root may have still.
func setReceiveBuffer(fd, bytes int) error {
	if bytes == 0 {
		return nil
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, bytes); err != nil {
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, bytes); err != nil {
			return fmt.Errorf("setsockopt SO_RCVBUF %d: %w", bytes, err)
		}
	}
	has, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
	if err != nil {
		return fmt.Errorf("getsockopt SO_RCVBUF: %w", err)
	}
	if has < 2*bytes {
		return Unsupported{fmt.Sprintf(
			"receive buffer of %d B: net.core.rmem_max allows %d", bytes, has/2)}
	}
	return nil
}

// awaitAcknowledged waits until the socket's send queue (SIOCOUTQ, or TIOCOUTQ) is empty: until the peer's kernel has
// acknowledged everything. It looks every pollInterval.
func awaitAcknowledged(ctx context.Context, c *net.TCPConn) error {
	return sockets.Control(c, func(fd int) error {
		for {
			queued, err := unix.IoctlGetInt(fd, unix.TIOCOUTQ)
			if err != nil {
				return fmt.Errorf("ioctl TIOCOUTQ: %w", err)
			}
			if queued == 0 {
				return nil
			}
			if broken, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR); err == nil && broken != 0 {
				return fmt.Errorf("%d B were not acknowledged: %w", queued, syscall.Errno(broken))
			}
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("%d B were not acknowledged: %w", queued, err)
			}
			// Not time.Sleep, which takes a millisecond at least when nothing else runs.
			pause := unix.NsecToTimespec(int64(pollInterval))
			_ = unix.Nanosleep(&pause, nil)
		}
	})
}

const pollInterval = 50 * time.Microsecond

// tcpInfo is what the kernel knows of a connection.
func tcpInfo(c *net.TCPConn) (info *unix.TCPInfo, err error) {
	err = sockets.Control(c, func(fd int) error {
		info, err = unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("getsockopt TCP_INFO: %w", err)
	}
	return info, nil
}
