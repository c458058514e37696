package relay

import (
	"fmt"
	"math/bits"
	"sync/atomic"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"ncp-testbed/internal/sockets"
	"ncp-testbed/internal/timing"
)

// ringFrames is what the kernel may keep of received frames until the relay comes to read them: 80 ms of
// full-size frames at 2.5 Gbit/s.
const ringFrames = 1 << 14

// Layout of a slot of a TPACKET_V2 ring (Documentation/networking/packet_mmap.rst): the header, then the
// link-layer address, then the frame at the offset that the header tells, at most slotHeaderBytes into it.
const (
	addressOffset   = int(unsafe.Sizeof(unix.Tpacket2Hdr{})+15) &^ 15
	slotHeaderBytes = 96
)

// receiver takes the frames that arrive at all interfaces of the middle from memory shared with the kernel.
type receiver struct {
	fd   int
	ring []byte
	slot int // bytes
	next int // slot

	dropped uint64
}

// arrived is a frame in the ring. Bytes are valid until the next take.
type arrived struct {
	ifindex            int32
	bytes              []byte
	length             int         // on the wire; more than bytes if the ring's slot is too small
	wall               timing.Unix // when the kernel received it
	vlan               bool
	vlanTCI, vlanTPID  uint16
	checksumUnfinished bool
}

// taggedLength is that of the frame when its tag is put back.
func (a *arrived) taggedLength() int {
	if a.vlan {
		return a.length + vlanBytes
	}
	return a.length
}

// fits reports whether it is a frame, all of it there, whose packet is of so many bytes at most.
func (a *arrived) fits(packetBytes int) bool {
	return a.length <= len(a.bytes) && a.taggedLength() <= packetBytes+maxHeaderBytes && a.length >= ethernetBytes
}

// openReceiver has a ring for frames up to a size, into which nothing comes before it listens.
func openReceiver(frameBytes int) (*receiver, error) {
	// Protocol 0 receives nothing until bind: no frame slips past the filter.
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("packet socket: %w", err)
	}
	r := &receiver{fd: fd, slot: 1 << bits.Len(uint(slotHeaderBytes+frameBytes-1))}
	if err := r.configure(); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return r, nil
}

// listen receives from now on what arrives at the interfaces of the given indexes.
func (r *receiver) listen(indexes []int) error { return attachAndBind(r.fd, interfaceFilter(indexes)) }

// takes reports whether frames of a size have room in the ring.
func (r *receiver) takes(frameBytes int) bool { return slotHeaderBytes+frameBytes <= r.slot }

func (r *receiver) configure() error {
	for _, option := range []struct {
		name              string
		level, key, value int
	}{
		{"PACKET_IGNORE_OUTGOING", unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1},
		{"PACKET_VERSION", unix.SOL_PACKET, unix.PACKET_VERSION, unix.TPACKET_V2},
		// Frames are stamped as they come in, not as they get to this socket.
		{"SO_TIMESTAMPNS", unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1},
	} {
		if err := unix.SetsockoptInt(r.fd, option.level, option.key, option.value); err != nil {
			return fmt.Errorf("%s: %w", option.name, err)
		}
	}
	block := max(r.slot, 1<<16)
	err := unix.SetsockoptTpacketReq(r.fd, unix.SOL_PACKET, unix.PACKET_RX_RING, &unix.TpacketReq{
		Block_size: uint32(block), Block_nr: uint32(ringFrames * r.slot / block),
		Frame_size: uint32(r.slot), Frame_nr: ringFrames,
	})
	if err != nil {
		return fmt.Errorf("PACKET_RX_RING: %w", err)
	}
	r.ring, err = unix.Mmap(r.fd, 0, ringFrames*r.slot, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("memory of the packet ring: %w", err)
	}
	return nil
}

// attachAndBind has a packet socket receive what its filter takes, and nothing before the filter is there.
func attachAndBind(fd int, filter []bpf.Instruction) error {
	if err := sockets.AttachFilter(fd, filter); err != nil {
		return err
	}
	all := uint16(unix.ETH_P_ALL)
	return unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all>>8 | all<<8})
}

func (r *receiver) close() {
	_ = unix.Munmap(r.ring)
	_ = unix.Close(r.fd)
}

// take fills in the next frame that has arrived; false if there is none. Each must be released.
func (r *receiver) take(a *arrived) bool {
	slot := r.ring[r.next*r.slot : (r.next+1)*r.slot]
	header := (*unix.Tpacket2Hdr)(unsafe.Pointer(&slot[0]))
	status := atomic.LoadUint32(&header.Status)
	if status&unix.TP_STATUS_USER == 0 {
		return false
	}
	address := (*unix.RawSockaddrLinklayer)(unsafe.Pointer(&slot[addressOffset]))
	*a = arrived{
		ifindex: address.Ifindex,
		bytes:   slot[header.Mac:][:header.Snaplen],
		length:  int(header.Len),
		wall:    timing.Unix(header.Sec)*nsPerS + timing.Unix(header.Nsec),

		checksumUnfinished: status&unix.TP_STATUS_CSUMNOTREADY != 0,
	}
	a.readTag(status, header.Vlan_tci, header.Vlan_tpid)
	return true
}

// readTag reads what the kernel reports of the tag that it took off, by a frame's status.
func (a *arrived) readTag(status uint32, tci, tpid uint16) {
	if a.vlan = status&unix.TP_STATUS_VLAN_VALID != 0; a.vlan {
		a.vlanTCI, a.vlanTPID = tci, unix.ETH_P_8021Q
		if status&unix.TP_STATUS_VLAN_TPID_VALID != 0 {
			a.vlanTPID = tpid
		}
	}
}

// release gives the slot of the frame taken last back to the kernel.
func (r *receiver) release() {
	header := (*unix.Tpacket2Hdr)(unsafe.Pointer(&r.ring[r.next*r.slot]))
	atomic.StoreUint32(&header.Status, unix.TP_STATUS_KERNEL)
	r.hold()
}

// hold goes on to the next frame without giving the slot back.
func (r *receiver) hold() {
	if r.next++; r.next == ringFrames {
		r.next = 0
	}
}

// drops is how many frames the kernel has dropped so far because the ring was full.
func (r *receiver) drops() uint64 {
	if stats, err := unix.GetsockoptTpacketStats(r.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS); err == nil {
		r.dropped += uint64(stats.Drops) // reading resets the kernel's count
	}
	return r.dropped
}
