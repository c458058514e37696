package netconf

import (
	"encoding/binary"
	"fmt"
	"net"
	"time"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"ncp-testbed/internal/netns"
)

// Change is what becomes of a live end of a link; what is nil stays.
type Change struct {
	Interface string   `json:"interface"`
	Shaping   *Shaping `json:"shaping"` // in place: what is queued stays
	Up        *bool    `json:"up"`      // whether its plug is in: its carrier, and of a middle the interface itself
}

// Make changes an end in a network namespace (by path) once wait has returned, and returns when it was done. An interface of a middle is the other end of a host's, or of a tunnel to it.
func (c Change) Make(namespace string, middle bool, wait func() error) (done time.Time, err error) {
	err = netns.Within(namespace, func() error {
		return dialled(func(conn *netlink.Conn) error {
			found, err := net.InterfaceByName(c.Interface)
			if err != nil {
				return fmt.Errorf("interface %s: %w", c.Interface, err)
			}
			if err := wait(); err != nil {
				return err
			}
			if c.Shaping != nil {
				if err := c.Shaping.class(conn, found.Index, 0); err != nil {
					return fmt.Errorf("rate of %s: %w", c.Interface, err)
				}
			}
			if c.Up != nil {
				set := setCarrier
				if middle {
					set = setUp
				}
				if err := set(conn, found.Index, *c.Up); err != nil {
					return fmt.Errorf("plug of %s: %w", c.Interface, err)
				}
			}
			done = time.Now()
			return nil
		})
	})
	return done, err
}

// setCarrier gives an interface its carrier or takes it away: the other end of a tunnel, unlike that of a cable, can't.
func setCarrier(c *netlink.Conn, index int, up bool) error {
	down := uint8(1)
	if up {
		down = 0
	}
	link := make([]byte, unix.SizeofIfInfomsg)
	binary.NativeEndian.PutUint32(link[4:], uint32(index))
	return request(c, unix.RTM_NEWLINK, 0, link, func(a *netlink.AttributeEncoder) {
		a.Uint8(unix.IFLA_PROTO_DOWN, down)
	})
}

// setUp brings an interface up or down, and so a cable's other end.
func setUp(c *netlink.Conn, index int, up bool) error {
	link := make([]byte, unix.SizeofIfInfomsg)
	binary.NativeEndian.PutUint32(link[4:], uint32(index))
	if up {
		binary.NativeEndian.PutUint32(link[8:], unix.IFF_UP)
	}
	binary.NativeEndian.PutUint32(link[12:], unix.IFF_UP)
	return request(c, unix.RTM_NEWLINK, 0, link, nil)
}
