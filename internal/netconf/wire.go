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

	"github.com/jsimonetti/rtnetlink/v2"
	"github.com/jsimonetti/rtnetlink/v2/driver"
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

// settings returns the folder of the kernel's settings for the thread's namespace. A container may not write its own
// /proc/sys, so there it is that of the machine's first process.
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
	if err := netns.Within(Namespace(m.PID), disableIPv6); err != nil {
		return err
	}
	for _, end := range m.Ends {
		err := makeLink(m.PID, end.Interface, rtnetlink.LinkAttributes{MTU: end.MTU, Info: end.Tunnel.info()})
		if err == nil {
			err = within(m.PID, func(c *rtnetlink.Conn) error { return setPromiscuous(c, end.Interface) })
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
		if err := disableIPv6(); err != nil {
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
		if err := within(h.PID, func(c *rtnetlink.Conn) error { return end.bringUp(c, h.CongestionControl) }); err != nil {
			return fmt.Errorf("interface %s: %w", end.Interface, err)
		}
	}
	for _, r := range h.Routes {
		if err := within(h.PID, func(c *rtnetlink.Conn) error { return r.add(c, h.CongestionControl) }); err != nil {
			return fmt.Errorf("route to %s: %w", r.To, err)
		}
	}
	return nil
}

// disableIPv6 keeps the namespace from sending anything by itself: no router or neighbour discovery.
func disableIPv6() error {
	for _, scope := range []string{"all", "default"} {
		err := os.WriteFile(settings()+"/net/ipv6/conf/"+scope+"/disable_ipv6", []byte("1"), 0)
		if err != nil && !errors.Is(err, os.ErrNotExist) { // a kernel without IPv6 sends none
			return err
		}
	}
	return nil
}

func within(pid int, f func(*rtnetlink.Conn) error) error {
	return netns.Within(Namespace(pid), func() error { return dialled(f) })
}

func dialled(f func(*rtnetlink.Conn) error) error {
	c, err := rtnetlink.Dial(nil)
	if err != nil {
		return err
	}
	defer c.Close()
	return f(c)
}

// make adds the interface, from the machine's own namespace.
func (e *End) make() error {
	mac, err := net.ParseMAC(e.MAC)
	if err != nil {
		return err
	}
	if (e.Tunnel == nil) == (e.Middle == nil) {
		return errors.New("want a tunnel or a middle")
	}
	wire := rtnetlink.LinkAttributes{Address: mac, MTU: e.MTU}
	if e.Tunnel != nil {
		wire.Info = e.Tunnel.info()
	} else {
		peer := rtnetlink.LinkAttributes{Name: e.Middle.Interface, MTU: e.MTU, NetNS: rtnetlink.NetNSForPID(uint32(e.Middle.PID))}
		wire.Info = &rtnetlink.LinkInfo{Kind: "veth", Data: &driver.Veth{PeerInfo: &rtnetlink.LinkMessage{Attributes: &peer}}}
	}
	if err := makeLink(e.PID, e.Interface, wire); err != nil || e.Middle == nil {
		return err
	}
	return within(e.Middle.PID, func(c *rtnetlink.Conn) error { return setPromiscuous(c, e.Middle.Interface) })
}

// makeLink adds an interface to a process's namespace, where it is not there already.
func makeLink(pid int, name string, as rtnetlink.LinkAttributes) error {
	as.Name, as.NetNS = name, rtnetlink.NetNSForPID(uint32(pid))
	err := dialled(func(c *rtnetlink.Conn) error { return c.Link.New(&rtnetlink.LinkMessage{Attributes: &as}) })
	if errors.Is(err, unix.EEXIST) && netns.Within(Namespace(pid), func() error {
		_, err := net.InterfaceByName(name)
		return err
	}) == nil {
		return nil
	}
	return err
}

func (t *Tunnel) info() *rtnetlink.LinkInfo { return &rtnetlink.LinkInfo{Kind: t.Kind(), Data: t} }

// Kind, New, Decode and Encode make a tunnel a driver of [rtnetlink], which has none for VXLAN.
func (t *Tunnel) Kind() string { return "vxlan" }

// New returns an empty one.
func (t *Tunnel) New() rtnetlink.LinkDriver { return &Tunnel{} }

// Decode reads nothing: tunnels are only made.
func (t *Tunnel) Decode(*netlink.AttributeDecoder) error { return nil }

const vxlanDFSet = 1 // linux/if_link.h

// Encode writes its attributes.
func (t *Tunnel) Encode(data *netlink.AttributeEncoder) error {
	data.Uint32(unix.IFLA_VXLAN_ID, t.VNI)
	data.Bytes(unix.IFLA_VXLAN_GROUP, t.Remote.AsSlice())
	data.Bytes(unix.IFLA_VXLAN_LOCAL, t.Local.AsSlice())
	data.Bytes(unix.IFLA_VXLAN_PORT, binary.BigEndian.AppendUint16(nil, t.Port))
	data.Uint8(unix.IFLA_VXLAN_LEARNING, 0)
	data.Uint8(unix.IFLA_VXLAN_UDP_CSUM, 1)
	data.Uint8(unix.IFLA_VXLAN_DF, vxlanDFSet)
	return nil
}

// setPromiscuous lets an interface of a middle receive whatever arrives.
func setPromiscuous(c *rtnetlink.Conn, name string) error {
	found, err := net.InterfaceByName(name)
	if err != nil {
		return err
	}
	if err := disableOffloads(name); err != nil {
		return err
	}
	return setFlags(c, found.Index, unix.IFF_UP|unix.IFF_PROMISC)
}

func setFlags(c *rtnetlink.Conn, index int, flags uint32) error {
	return c.Link.Set(&rtnetlink.LinkMessage{Index: uint32(index), Flags: flags, Change: flags})
}

func (e *End) bringUp(c *rtnetlink.Conn, congestionControl string) error {
	found, err := net.InterfaceByName(e.Interface)
	if err != nil {
		return err
	}
	if err := disableOffloads(e.Interface); err != nil {
		return err
	}
	if e.Shaping != nil {
		if err := e.Shaping.add(found.Index); err != nil {
			return err
		}
	}
	address := rtnetlink.AddressAttributes{Address: e.Address.AsSlice(), Local: e.Address.AsSlice()}
	if congestionControl != "" { // no other route than the one below
		address.Flags = unix.IFA_F_NOPREFIXROUTE
	}
	_, err = c.Execute(&rtnetlink.AddressMessage{
		Family: unix.AF_INET, PrefixLength: e.Prefix, Index: uint32(found.Index), Attributes: &address,
	}, unix.RTM_NEWADDR, replace)
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
func (e *End) knowPeer(c *rtnetlink.Conn, index int) error {
	mac, err := net.ParseMAC(e.PeerMAC)
	if err != nil {
		return err
	}
	_, err = c.Execute(&rtnetlink.NeighMessage{
		Family: unix.AF_INET, Index: uint32(index), State: unix.NUD_PERMANENT,
		Attributes: &rtnetlink.NeighAttributes{Address: e.Peer.AsSlice(), LLAddress: mac, IfIndex: uint32(index)},
	}, unix.RTM_NEWNEIGH, replace)
	return err
}

func (r Route) add(c *rtnetlink.Conn, congestionControl string) error {
	found, err := net.InterfaceByName(r.Interface)
	if err != nil {
		return err
	}
	return addRoute(c, r.To, r.Via, netip.Addr{}, found.Index, congestionControl)
}

func addRoute(c *rtnetlink.Conn, to, via, source netip.Addr, index int, congestionControl string) error {
	route := routeMessage{congestionControl: congestionControl}
	route.RouteMessage = rtnetlink.RouteMessage{
		Family: unix.AF_INET, DstLength: 32, Table: unix.RT_TABLE_MAIN, Protocol: unix.RTPROT_BOOT, Type: unix.RTN_UNICAST,
		Attributes: rtnetlink.RouteAttributes{Dst: to.AsSlice(), OutIface: uint32(index), Gateway: via.AsSlice(), Src: source.AsSlice()},
	}
	if !via.IsValid() {
		route.Scope = unix.RT_SCOPE_LINK
	}
	_, err := c.Execute(&route, unix.RTM_NEWROUTE, replace)
	return err
}

// replace makes something in the place of what may be there.
const replace = netlink.Request | netlink.Acknowledge | netlink.Create | netlink.Replace

// routeMessage is a route with a congestion control, which [rtnetlink] has no field for.
type routeMessage struct {
	rtnetlink.RouteMessage
	congestionControl string
}

// MarshalBinary adds the congestion control.
func (r *routeMessage) MarshalBinary() ([]byte, error) {
	text, err := r.RouteMessage.MarshalBinary()
	if err != nil || r.congestionControl == "" {
		return text, err
	}
	return withAttributes(text, func(a *netlink.AttributeEncoder) {
		a.Nested(unix.RTA_METRICS, func(m *netlink.AttributeEncoder) error {
			m.String(unix.RTAX_CC_ALGO, r.congestionControl)
			return nil
		})
	})
}

func withAttributes(message []byte, fill func(*netlink.AttributeEncoder)) ([]byte, error) {
	a := netlink.NewAttributeEncoder()
	fill(a)
	attributes, err := a.Encode()
	return append(message, attributes...), err
}

// Commands of the ethtool ioctl that turn an offload off, see linux/ethtool.h: checksums of what is sent, segmentation
// (two ways), joining of what is received.
var offloads = []uint32{0x17, 0x1f, 0x24, 0x2c}

// disableOffloads turns an interface's offloads off: segmentation makes bursts beyond the rate, and with checksums left to
// hardware a frame that user space forwards arrives with a bad one.
func disableOffloads(name string) error {
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
