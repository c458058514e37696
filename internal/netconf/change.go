package netconf

import (
	"fmt"
	"net"
	"time"

	"github.com/jsimonetti/rtnetlink/v2"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"ncp-testbed/internal/netns"
)

// Change is what becomes of a live end of a link; what is nil stays.
type Change struct {
	Interface string   `json:"interface"`
	Shaping   *Shaping `json:"shaping"` // in place: what is queued stays
	Up        *bool    `json:"up"`      // its carrier, and of a middle the interface itself
}

// Make changes an end in a network namespace (by path) once wait has returned, and returns when it was done. An interface of a middle is the other end of a host's, or of a tunnel to it.
func (c Change) Make(namespace string, middle bool, wait func() error) (done time.Time, err error) {
	err = netns.Within(namespace, func() error {
		return dialled(func(conn *rtnetlink.Conn) error {
			found, err := net.InterfaceByName(c.Interface)
			if err != nil {
				return fmt.Errorf("interface %s: %w", c.Interface, err)
			}
			if err := wait(); err != nil {
				return err
			}
			if c.Shaping != nil {
				if err := c.Shaping.change(found.Index); err != nil {
					return fmt.Errorf("rate of %s: %w", c.Interface, err)
				}
			}
			if c.Up != nil {
				set := setCarrier
				if middle {
					set = setUp
				}
				if err := set(conn, found.Index, *c.Up); err != nil {
					return fmt.Errorf("carrier of %s: %w", c.Interface, err)
				}
			}
			done = time.Now()
			return nil
		})
	})
	return done, err
}

// setCarrier returns an interface its carrier or takes it away: the other end of a tunnel, unlike that of a cable, can't.
func setCarrier(c *rtnetlink.Conn, index int, up bool) error {
	m := protoDown{LinkMessage: rtnetlink.LinkMessage{Index: uint32(index)}, down: !up}
	_, err := c.Execute(&m, unix.RTM_NEWLINK, netlink.Request|netlink.Acknowledge)
	return err
}

// protoDown is a change of a link's IFLA_PROTO_DOWN, which [rtnetlink] has no field for.
type protoDown struct {
	rtnetlink.LinkMessage
	down bool
}

// MarshalBinary adds it.
func (p *protoDown) MarshalBinary() ([]byte, error) {
	text, err := p.LinkMessage.MarshalBinary()
	if err != nil {
		return nil, err
	}
	value := uint8(0)
	if p.down {
		value = 1
	}
	return withAttributes(text, func(a *netlink.AttributeEncoder) { a.Uint8(unix.IFLA_PROTO_DOWN, value) })
}

// setUp brings an interface up or down, and so a cable's other end.
func setUp(c *rtnetlink.Conn, index int, up bool) error {
	m := rtnetlink.LinkMessage{Index: uint32(index), Change: unix.IFF_UP}
	if up {
		m.Flags = unix.IFF_UP
	}
	return c.Link.Set(&m)
}
