// Package netconf makes the ends of links on a machine that is not the one that leads the run: an interface in the network
// namespace of a host, shaped as the link asks, and its way to the link's middle. That is a pair of interfaces where the
// middle is on this machine, else a VXLAN tunnel between a host on one machine and the middle on another.
//
// A tunnel is made in a namespace of the run and sends by the machine's own, so it goes with the run and leaves nothing
// in the machine.
package netconf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unsafe"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"ncp-testbed/internal/netns"
)

// End is one end of a link.
type End struct {
	PID       int        `json:"pid"` // a process in the host's namespace
	Interface string     `json:"interface"`
	MAC       string     `json:"mac"`
	MTU       uint32     `json:"mtu"`
	Address   netip.Addr `json:"address"`
	Prefix    uint8      `json:"prefix"`
	PeerMAC   string     `json:"peer_mac"`
	Peer      netip.Addr `json:"peer"`
	Shaping   *Shaping   `json:"shaping"` // nil: rate and queue are in the middle
	Tunnel    *Tunnel    `json:"tunnel"`  // to the middle on another machine; nil: it is on this one
	Middle    *Near      `json:"middle"`  // on this machine; nil: it is on another
}

// Tunnel is one end of a point-to-point VXLAN.
type Tunnel struct {
	VNI    uint32     `json:"vni"`
	Local  netip.Addr `json:"local"`  // of this machine in the underlay
	Remote netip.Addr `json:"remote"` // of the other one
	Port   uint16     `json:"port"`
}

// Near is the side of a link's middle that an end on the same machine is wired to.
type Near struct {
	PID       int    `json:"pid"` // a process in the middles' namespace
	Interface string `json:"interface"`
}

// Middles are those on this machine: where they are, and the ends of links that reach them from other machines.
type Middles struct {
	PID  int         `json:"pid"`
	Ends []MiddleEnd `json:"ends"`
}

// MiddleEnd is the side of a middle to which an end on another machine is wired.
type MiddleEnd struct {
	Interface string `json:"interface"`
	MTU       uint32 `json:"mtu"`
	Tunnel    Tunnel `json:"tunnel"`
}

// Shaping is the rate and the queue at a host's own egress, as topologies/shaper.py has them.
type Shaping struct {
	RateBPS    uint64 `json:"rate_bps"`
	BurstBytes uint32 `json:"burst_bytes"`
	Quantum    uint32 `json:"quantum_bytes"`
	LimitBytes uint32 `json:"limit_bytes"`
}

// Host is how the kernel of a host is set before it has an address.
type Host struct {
	PID               int               `json:"pid"`
	Sysctls           map[string]string `json:"sysctls"`
	CongestionControl string            `json:"congestion_control"` // of its routes; "": the machine's
	Routes            []Route           `json:"routes"`
	Ends              []End             `json:"ends"`
}

// Route is an address that a host reaches by a neighbour.
type Route struct {
	To        netip.Addr `json:"to"`
	Via       netip.Addr `json:"via"`
	Interface string     `json:"interface"`
}

// Namespace is the path of a process's network namespace.
func Namespace(pid int) string { return fmt.Sprintf("/proc/%d/ns/net", pid) }

// settings is where the kernel's are that are the thread's namespace's own: what a container sees of them it may not
// write, so there it is by the machine's first process.
func settings() string {
	var seen unix.Statfs_t
	if err := unix.Statfs("/proc/sys", &seen); err == nil && seen.Flags&unix.ST_RDONLY != 0 {
		return "/proc/1/root/proc/sys"
	}
	return "/proc/sys"
}

// realTime is where a kernel that shares out real time among groups of processes (RT_GROUP_SCHED) has those of the
// machine itself. A container's has none.
const realTime = "/proc/1/root/sys/fs/cgroup/cpu/cgroup.procs"

// SetUpMiddles makes the middles' sides of links whose ends are on other machines. What is there already stays.
func SetUpMiddles(m Middles) error {
	// So that the relay may be punctual; where it can't be had, or needs nothing of the kind, it tells itself.
	_ = os.WriteFile(realTime, []byte(strconv.Itoa(m.PID)), 0)
	if err := netns.Within(Namespace(m.PID), quiet); err != nil {
		return err
	}
	for _, end := range m.Ends {
		err := makeLink(m.PID, end.Interface, func(a *netlink.AttributeEncoder) {
			a.Uint32(unix.IFLA_MTU, end.MTU)
			a.Nested(unix.IFLA_LINKINFO, end.Tunnel.encode)
		})
		if err == nil {
			err = within(m.PID, func(c *netlink.Conn) error { return takeAll(c, end.Interface) })
		}
		if err != nil {
			return fmt.Errorf("interface %s: %w", end.Interface, err)
		}
	}
	return nil
}

// SetUp makes a host's ends of links and its routes. What is there already stays, so it may be called again.
func SetUp(h Host) error {
	err := netns.Within(Namespace(h.PID), func() error {
		if err := quiet(); err != nil {
			return err
		}
		for name, value := range h.Sysctls {
			path := filepath.Join(settings(), strings.ReplaceAll(name, ".", "/"))
			if err := os.WriteFile(path, []byte(value), 0); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, end := range h.Ends {
		if err := end.make(); err != nil {
			return fmt.Errorf("interface %s: %w", end.Interface, err)
		}
		if err := within(h.PID, func(c *netlink.Conn) error { return end.bringUp(c, h.CongestionControl) }); err != nil {
			return fmt.Errorf("interface %s: %w", end.Interface, err)
		}
	}
	for _, r := range h.Routes {
		if err := within(h.PID, func(c *netlink.Conn) error { return r.add(c, h.CongestionControl) }); err != nil {
			return fmt.Errorf("route to %s: %w", r.To, err)
		}
	}
	return nil
}

// quiet keeps the namespace from sending anything by itself: no IPv6, hence no router or neighbour discovery.
func quiet() error {
	for _, scope := range []string{"all", "default"} {
		err := os.WriteFile(settings()+"/net/ipv6/conf/"+scope+"/disable_ipv6", []byte("1"), 0)
		if err != nil && !errors.Is(err, os.ErrNotExist) { // a kernel without IPv6 sends none
			return err
		}
	}
	return nil
}

func within(pid int, f func(*netlink.Conn) error) error {
	return netns.Within(Namespace(pid), func() error { return dialled(f) })
}

func dialled(f func(*netlink.Conn) error) error {
	c, err := netlink.Dial(unix.NETLINK_ROUTE, nil)
	if err != nil {
		return err
	}
	defer c.Close()
	return f(c)
}

// Attributes of VXLAN and of pairs of interfaces, see linux/if_link.h and linux/veth.h.
const (
	vxlanID, vxlanLearning, vxlanPort, vxlanGroup, vxlanLocal, vxlanUDPSum, vxlanDF = 1, 7, 15, 2, 4, 18, 29
	dfSet                                                                           = 1
	vethPeer                                                                        = 1
)

// make adds the interface, from the machine's own namespace.
func (e *End) make() error {
	mac, err := net.ParseMAC(e.MAC)
	if err != nil {
		return err
	}
	if (e.Tunnel == nil) == (e.Middle == nil) {
		return errors.New("want a tunnel or a middle")
	}
	err = makeLink(e.PID, e.Interface, func(a *netlink.AttributeEncoder) {
		a.Bytes(unix.IFLA_ADDRESS, mac)
		a.Uint32(unix.IFLA_MTU, e.MTU)
		if e.Tunnel != nil {
			a.Nested(unix.IFLA_LINKINFO, e.Tunnel.encode)
		} else {
			a.Nested(unix.IFLA_LINKINFO, func(info *netlink.AttributeEncoder) error { return e.Middle.encode(info, e.MTU) })
		}
	})
	if err != nil || e.Middle == nil {
		return err
	}
	return within(e.Middle.PID, func(c *netlink.Conn) error { return takeAll(c, e.Middle.Interface) })
}

// makeLink adds an interface to a process's namespace, where it is not there already.
func makeLink(pid int, name string, fill func(*netlink.AttributeEncoder)) error {
	err := dialled(func(c *netlink.Conn) error {
		return request(c, unix.RTM_NEWLINK, unix.NLM_F_CREATE|unix.NLM_F_EXCL, make([]byte, unix.SizeofIfInfomsg),
			func(a *netlink.AttributeEncoder) {
				a.String(unix.IFLA_IFNAME, name)
				a.Uint32(unix.IFLA_NET_NS_PID, uint32(pid))
				fill(a)
			})
	})
	if errors.Is(err, unix.EEXIST) && netns.Within(Namespace(pid), func() error {
		_, err := net.InterfaceByName(name)
		return err
	}) == nil {
		return nil
	}
	return err
}

func (t *Tunnel) encode(info *netlink.AttributeEncoder) error {
	info.String(unix.IFLA_INFO_KIND, "vxlan")
	info.Nested(unix.IFLA_INFO_DATA, func(data *netlink.AttributeEncoder) error {
		data.Uint32(vxlanID, t.VNI)
		data.Bytes(vxlanGroup, t.Remote.AsSlice())
		data.Bytes(vxlanLocal, t.Local.AsSlice())
		data.Bytes(vxlanPort, binary.BigEndian.AppendUint16(nil, t.Port))
		data.Uint8(vxlanLearning, 0)
		data.Uint8(vxlanUDPSum, 1)
		data.Uint8(vxlanDF, dfSet)
		return nil
	})
	return nil
}

func (n *Near) encode(info *netlink.AttributeEncoder, mtu uint32) error {
	info.String(unix.IFLA_INFO_KIND, "veth")
	info.Nested(unix.IFLA_INFO_DATA, func(data *netlink.AttributeEncoder) error {
		data.Do(vethPeer, func() ([]byte, error) {
			peer := netlink.NewAttributeEncoder()
			peer.String(unix.IFLA_IFNAME, n.Interface)
			peer.Uint32(unix.IFLA_NET_NS_PID, uint32(n.PID))
			peer.Uint32(unix.IFLA_MTU, mtu)
			attributes, err := peer.Encode()
			return append(make([]byte, unix.SizeofIfInfomsg), attributes...), err
		})
		return nil
	})
	return nil
}

// takeAll lets an interface of a middle receive whatever arrives.
func takeAll(c *netlink.Conn, name string) error {
	found, err := net.InterfaceByName(name)
	if err != nil {
		return err
	}
	if err := plainFrames(name); err != nil {
		return err
	}
	return setFlags(c, found.Index, unix.IFF_UP|unix.IFF_PROMISC)
}

func setFlags(c *netlink.Conn, index int, flags uint32) error {
	header := make([]byte, unix.SizeofIfInfomsg)
	binary.NativeEndian.PutUint32(header[4:], uint32(index))
	binary.NativeEndian.PutUint32(header[8:], flags)
	binary.NativeEndian.PutUint32(header[12:], flags)
	return request(c, unix.RTM_NEWLINK, 0, header, nil)
}

func (e *End) bringUp(c *netlink.Conn, congestionControl string) error {
	found, err := net.InterfaceByName(e.Interface)
	if err != nil {
		return err
	}
	if err := plainFrames(e.Interface); err != nil {
		return err
	}
	if e.Shaping != nil {
		if err := e.Shaping.add(c, found.Index); err != nil {
			return err
		}
	}
	address := make([]byte, unix.SizeofIfAddrmsg)
	address[0], address[1] = unix.AF_INET, e.Prefix
	binary.NativeEndian.PutUint32(address[4:], uint32(found.Index))
	err = request(c, unix.RTM_NEWADDR, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, address, func(a *netlink.AttributeEncoder) {
		a.Bytes(unix.IFA_LOCAL, e.Address.AsSlice())
		a.Bytes(unix.IFA_ADDRESS, e.Address.AsSlice())
		if congestionControl != "" { // no other route than the one below
			a.Uint32(unix.IFA_FLAGS, unix.IFA_F_NOPREFIXROUTE)
		}
	})
	if err != nil {
		return fmt.Errorf("address: %w", err)
	}
	if err := setFlags(c, found.Index, unix.IFF_UP); err != nil {
		return fmt.Errorf("up: %w", err)
	}
	if err := e.knowPeer(c, found.Index); err != nil {
		return fmt.Errorf("neighbour: %w", err)
	}
	if congestionControl == "" {
		return nil
	}
	return addRoute(c, e.Peer, netip.Addr{}, e.Address, found.Index, congestionControl)
}

// knowPeer resolves the other end's address before the first packet: an ARP exchange would cost it one RTT.
func (e *End) knowPeer(c *netlink.Conn, index int) error {
	mac, err := net.ParseMAC(e.PeerMAC)
	if err != nil {
		return err
	}
	neighbour := make([]byte, unix.SizeofNdMsg)
	neighbour[0] = unix.AF_INET
	binary.NativeEndian.PutUint32(neighbour[4:], uint32(index))
	binary.NativeEndian.PutUint16(neighbour[8:], unix.NUD_PERMANENT)
	return request(c, unix.RTM_NEWNEIGH, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, neighbour,
		func(a *netlink.AttributeEncoder) {
			a.Bytes(unix.NDA_DST, e.Peer.AsSlice())
			a.Bytes(unix.NDA_LLADDR, mac)
		})
}

func (r Route) add(c *netlink.Conn, congestionControl string) error {
	found, err := net.InterfaceByName(r.Interface)
	if err != nil {
		return err
	}
	return addRoute(c, r.To, r.Via, netip.Addr{}, found.Index, congestionControl)
}

func addRoute(c *netlink.Conn, to, via, source netip.Addr, index int, congestionControl string) error {
	route := make([]byte, unix.SizeofRtMsg)
	route[0], route[1] = unix.AF_INET, 32
	route[4], route[5], route[7] = unix.RT_TABLE_MAIN, unix.RTPROT_BOOT, unix.RTN_UNICAST
	if !via.IsValid() {
		route[6] = unix.RT_SCOPE_LINK
	}
	return request(c, unix.RTM_NEWROUTE, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, route, func(a *netlink.AttributeEncoder) {
		a.Bytes(unix.RTA_DST, to.AsSlice())
		a.Uint32(unix.RTA_OIF, uint32(index))
		if via.IsValid() {
			a.Bytes(unix.RTA_GATEWAY, via.AsSlice())
		}
		if source.IsValid() {
			a.Bytes(unix.RTA_PREFSRC, source.AsSlice())
		}
		if congestionControl != "" {
			a.Nested(unix.RTA_METRICS, func(m *netlink.AttributeEncoder) error {
				m.String(unix.RTAX_CC_ALGO, congestionControl)
				return nil
			})
		}
	})
}

// request asks the kernel for one thing, and waits until it is done.
func request(
	c *netlink.Conn, kind uint16, flags netlink.HeaderFlags, body []byte, fill func(*netlink.AttributeEncoder),
) error {
	if fill != nil {
		a := netlink.NewAttributeEncoder()
		fill(a)
		attributes, err := a.Encode()
		if err != nil {
			return err
		}
		body = append(body, attributes...)
	}
	_, err := c.Execute(netlink.Message{
		Header: netlink.Header{Type: netlink.HeaderType(kind), Flags: netlink.Request | netlink.Acknowledge | flags},
		Data:   body,
	})
	return err
}

// Commands of the ethtool ioctl that turn an offload off, see linux/ethtool.h: checksums of what is sent, segmentation
// (two ways), joining of what is received.
var offloads = []uint32{0x17, 0x1f, 0x24, 0x2c}

// plainFrames turns an interface's offloads off: segmentation makes bursts beyond the rate, and with checksums left to
// hardware a frame that user space forwards arrives with a bad one.
func plainFrames(name string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	for _, command := range offloads {
		value := struct{ command, data uint32 }{command, 0}
		var wanted struct {
			name [unix.IFNAMSIZ]byte
			data unsafe.Pointer
			_    [16]byte
		}
		copy(wanted.name[:unix.IFNAMSIZ-1], name)
		wanted.data = unsafe.Pointer(&value)
		_, _, number := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&wanted)))
		if number != 0 && number != unix.EOPNOTSUPP {
			return fmt.Errorf("turn offload %#x off: %w", command, number)
		}
	}
	return nil
}
