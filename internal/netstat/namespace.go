// Package netstat asks the kernel over netlink what it counts in a network namespace: interfaces, queues and
// sockets. Messages are as in linux/rtnetlink.h, linux/pkt_sched.h and linux/inet_diag.h.
package netstat

import (
	"errors"
	"fmt"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"ncp-testbed/internal/netns"
)

// Namespace asks about one network namespace. It is for one goroutine at a time.
type Namespace struct{ connection *netlink.Conn }

// Route opens a namespace, by path, for questions about interfaces and queues.
func Route(path string) (*Namespace, error) { return open(path, unix.NETLINK_ROUTE) }

// Diag opens a namespace, by path, for questions about sockets.
func Diag(path string) (*Namespace, error) { return open(path, unix.NETLINK_INET_DIAG) }

// RouteHere opens the namespace of the calling thread for questions about
// interfaces and queues, from whichever thread.
func RouteHere() (*Namespace, error) {
	connection, err := netlink.Dial(unix.NETLINK_ROUTE, nil)
	if err != nil {
		return nil, fmt.Errorf("netlink: %w", err)
	}
	return &Namespace{connection}, nil
}

func open(path string, family int) (*Namespace, error) {
	n := new(Namespace)
	// The socket stays in the namespace where it was made, and needs no privilege to ask.
	err := netns.Within(path, func() (err error) {
		n.connection, err = netlink.Dial(family, nil)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("netlink in namespace %s: %w", path, err)
	}
	return n, nil
}

// Close gives the namespace back.
func (n *Namespace) Close() error { return n.connection.Close() }

// dump asks for all there is and calls f with each answer's body.
func (n *Namespace) dump(kind uint16, question []byte, f func(body []byte) error) error {
	answers, err := n.connection.Execute(netlink.Message{
		Header: netlink.Header{Type: netlink.HeaderType(kind), Flags: netlink.Request | netlink.Dump},
		Data:   question,
	})
	if err != nil {
		return err
	}
	var failed error
	for _, answer := range answers {
		failed = errors.Join(failed, f(answer.Data))
	}
	return failed
}
