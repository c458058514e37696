package netconf

import (
	"encoding/binary"
	"fmt"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Handles of the discipline, of its class that has the rate, and of the queue below it.
const (
	rootParent  = 0xffffffff
	rootHandle  = 0x10000
	classHandle = 0x10001
	queueHandle = 0x100000
)

// Of HTB, see linux/pkt_sched.h.
const (
	htbParameters, htbInit = 1, 2
	htbVersion             = 3
	htbRateToQuantum       = 10
	linkLayerEthernet      = 1
	nsPerTick              = 64
)

// add puts the shaper at an interface: HTB with one class, and a queue that holds bytes.
func (s *Shaping) add(c *netlink.Conn, index int) error {
	init := make([]byte, 20) // struct tc_htb_glob
	binary.NativeEndian.PutUint32(init, htbVersion)
	binary.NativeEndian.PutUint32(init[4:], htbRateToQuantum)
	binary.NativeEndian.PutUint32(init[8:], classHandle&0xffff)
	const made = unix.NLM_F_CREATE | unix.NLM_F_EXCL
	err := request(c, unix.RTM_NEWQDISC, made, control(index, rootParent, rootHandle), kind("htb", func(a *netlink.AttributeEncoder) {
		a.Nested(unix.TCA_OPTIONS, func(o *netlink.AttributeEncoder) error { o.Bytes(htbInit, init); return nil })
	}))
	if err != nil {
		return fmt.Errorf("htb: %w", err)
	}
	if err := s.class(c, index, made); err != nil {
		return fmt.Errorf("class of htb: %w", err)
	}
	limit := binary.NativeEndian.AppendUint32(nil, s.LimitBytes)
	err = request(c, unix.RTM_NEWQDISC, made, control(index, classHandle, queueHandle),
		kind("bfifo", func(a *netlink.AttributeEncoder) { a.Bytes(unix.TCA_OPTIONS, limit) }))
	if err != nil {
		return fmt.Errorf("bfifo: %w", err)
	}
	return nil
}

func (s *Shaping) class(c *netlink.Conn, index int, flags netlink.HeaderFlags) error {
	return request(c, unix.RTM_NEWTCLASS, flags, control(index, rootHandle, classHandle),
		kind("htb", func(a *netlink.AttributeEncoder) {
			a.Nested(unix.TCA_OPTIONS, func(o *netlink.AttributeEncoder) error {
				o.Bytes(htbParameters, s.parameters())
				return nil
			})
		}))
}

// parameters are a struct tc_htb_opt: rate and ceiling alike, the bucket as the time that its bytes take.
func (s *Shaping) parameters() []byte {
	bytesPerSecond := max(1, s.RateBPS/8)
	rate := make([]byte, 12) // struct tc_ratespec
	rate[1] = linkLayerEthernet
	binary.NativeEndian.PutUint32(rate[8:], uint32(bytesPerSecond))
	ticks := uint32(uint64(s.BurstBytes) * 1e9 / bytesPerSecond / nsPerTick)
	all := append(append([]byte(nil), rate...), rate...)
	for _, value := range []uint32{ticks, ticks, s.Quantum, 0, 0} {
		all = binary.NativeEndian.AppendUint32(all, value)
	}
	return all
}

// control is a struct tcmsg.
func control(index int, parent, handle uint32) []byte {
	message := make([]byte, 20)
	binary.NativeEndian.PutUint32(message[4:], uint32(index))
	binary.NativeEndian.PutUint32(message[8:], handle)
	binary.NativeEndian.PutUint32(message[12:], parent)
	return message
}

func kind(name string, fill func(*netlink.AttributeEncoder)) func(*netlink.AttributeEncoder) {
	return func(a *netlink.AttributeEncoder) {
		a.String(unix.TCA_KIND, name)
		fill(a)
	}
}
