// Package netstat asks the kernel over netlink what it counts in a network namespace: interfaces, queues and
// sockets. Messages are as in linux/rtnetlink.h, linux/pkt_sched.h and linux/inet_diag.h.
package netstat

import (
	"encoding/binary"
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"ncp-testbed/internal/netns"
)

// Namespace asks about one network namespace. It is for one goroutine at a time. Its socket blocks: a collector samples
// ten times a second on a thread of its own, and waking that through the runtime's poller costs more than the answers.
type Namespace struct {
	socket   int
	sequence uint32
	buffer   []byte
}

// bufferBytes is above what the kernel puts into one datagram of a dump, 32 KiB.
const bufferBytes = 64 << 10

// Route opens a namespace, by path, for questions about interfaces and queues.
func Route(path string) (*Namespace, error) { return open(path, unix.NETLINK_ROUTE) }

// Diag opens a namespace, by path, for questions about sockets.
func Diag(path string) (*Namespace, error) { return open(path, unix.NETLINK_INET_DIAG) }

// RouteHere opens the namespace of the calling thread for questions about
// interfaces and queues, from whichever thread.
func RouteHere() (*Namespace, error) { return dial(unix.NETLINK_ROUTE) }

func open(path string, family int) (n *Namespace, err error) {
	// The socket stays in the namespace where it was made, and needs no privilege to ask.
	err = netns.Within(path, func() (err error) {
		n, err = dial(family)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("namespace %s: %w", path, err)
	}
	return n, nil
}

func dial(family int) (*Namespace, error) {
	socket, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, family)
	if err != nil {
		return nil, fmt.Errorf("netlink: %w", err)
	}
	return &Namespace{socket: socket, buffer: make([]byte, bufferBytes)}, nil
}

// Close gives the namespace back.
func (n *Namespace) Close() error { return unix.Close(n.socket) }

// dump asks for all there is and calls f with each answer's body, which is valid until f returns.
func (n *Namespace) dump(kind uint16, question []byte, f func(body []byte) error) error {
	n.sequence++
	if err := unix.Sendto(n.socket, request(kind, n.sequence, question), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return fmt.Errorf("netlink: %w", err)
	}
	var failed error
	for {
		count, _, err := unix.Recvfrom(n.socket, n.buffer, unix.MSG_TRUNC)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return fmt.Errorf("netlink: %w", err)
		}
		if count > len(n.buffer) {
			return fmt.Errorf("netlink: a datagram of %d bytes, want at most %d", count, len(n.buffer))
		}
		messages, err := syscall.ParseNetlinkMessage(n.buffer[:count])
		if err != nil {
			return fmt.Errorf("netlink: %w", err)
		}
		for _, m := range messages {
			switch {
			case m.Header.Seq != n.sequence: // the rest of an earlier dump, which failed
			case m.Header.Type == unix.NLMSG_DONE:
				return failed
			case m.Header.Type == unix.NLMSG_ERROR:
				return fmt.Errorf("netlink: %w", unix.Errno(-int32(u32(m.Data, 0))))
			case m.Header.Flags&unix.NLM_F_DUMP_INTR != 0:
				failed = errors.Join(failed, errInterrupted)
			default:
				failed = errors.Join(failed, f(m.Data))
			}
		}
	}
}

var errInterrupted = errors.New("netlink: what is dumped changed meanwhile")

// request is a header of netlink that asks for a dump, and the question.
func request(kind uint16, sequence uint32, question []byte) []byte {
	text := make([]byte, unix.SizeofNlMsghdr, unix.SizeofNlMsghdr+len(question))
	binary.NativeEndian.PutUint32(text, uint32(unix.SizeofNlMsghdr+len(question)))
	binary.NativeEndian.PutUint16(text[4:], kind)
	binary.NativeEndian.PutUint16(text[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	binary.NativeEndian.PutUint32(text[8:], sequence)
	return append(text, question...)
}
