package netconf

import (
	"fmt"
	"math"

	"github.com/florianl/go-tc"
	"golang.org/x/sys/unix"
)

// Handles of the discipline, of its class that has the rate, and of the queue below it.
const (
	rootHandle  = 0x10000
	classHandle = 0x10001
	queueHandle = 0x100000
)

// Of HTB, see linux/pkt_sched.h.
const (
	htbVersion        = 3
	htbRateToQuantum  = 10
	linkLayerEthernet = 1
	nsPerTick         = 64
)

// add puts the shaper at an interface: HTB with one class, and a queue that holds bytes.
func (s *Shaping) add(index int) error {
	return withTC(func(c *tc.Tc) error {
		root := object(index, tc.HandleRoot, rootHandle, tc.Attribute{Kind: "htb", Htb: &tc.Htb{
			Init: &tc.HtbGlob{Version: htbVersion, Rate2Quantum: htbRateToQuantum, Defcls: classHandle & 0xffff},
		}})
		if err := c.Qdisc().Add(root); err != nil {
			return fmt.Errorf("htb: %w", err)
		}
		if err := c.Class().Add(s.class(index)); err != nil {
			return fmt.Errorf("class of htb: %w", err)
		}
		queue := object(index, classHandle, queueHandle, tc.Attribute{Kind: "bfifo", Bfifo: &tc.FifoOpt{Limit: s.LimitBytes}})
		if err := c.Qdisc().Add(queue); err != nil {
			return fmt.Errorf("bfifo: %w", err)
		}
		return nil
	})
}

// change sets the rate in place: what is queued stays.
func (s *Shaping) change(index int) error {
	return withTC(func(c *tc.Tc) error { return c.Class().Replace(s.class(index)) })
}

// class has rate and ceiling alike, in 64 bits beside as much of them as 32 hold, and the bucket as the time that its
// bytes take.
func (s *Shaping) class(index int) *tc.Object {
	bytesPerSecond := max(1, s.RateBPS/8)
	rate := tc.RateSpec{Linklayer: linkLayerEthernet, Rate: uint32(min(bytesPerSecond, math.MaxUint32))}
	ticks := uint32(min(uint64(s.BurstBytes)*1e9/bytesPerSecond/nsPerTick, math.MaxUint32))
	return object(index, rootHandle, classHandle, tc.Attribute{Kind: "htb", Htb: &tc.Htb{
		Parms:  &tc.HtbOpt{Rate: rate, Ceil: rate, Buffer: ticks, Cbuffer: ticks, Quantum: s.Quantum},
		Rate64: &bytesPerSecond, Ceil64: &bytesPerSecond,
	}})
}

func object(index int, parent, handle uint32, as tc.Attribute) *tc.Object {
	return &tc.Object{
		Msg:       tc.Msg{Family: unix.AF_UNSPEC, Ifindex: uint32(index), Handle: handle, Parent: parent},
		Attribute: as,
	}
}

// withTC opens traffic control in the namespace of the calling thread.
func withTC(f func(*tc.Tc) error) error {
	c, err := tc.Open(nil)
	if err != nil {
		return err
	}
	defer c.Close()
	return f(c)
}
