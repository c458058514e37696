package relay

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

const (
	ethernetBytes  = 14
	ethernetMTU    = 1500
	addressesBytes = 12
	vlanBytes      = 4
	maxHeaderBytes = ethernetBytes + vlanBytes // beyond the MTU
)

// storeTagged copies a frame into a buffer with the VLAN tag that the kernel took off on receipt.
func (p *pool) storeTagged(buffer int32, bytes []byte, tpid, tci uint16) {
	p.length[buffer] = uint32(len(bytes) + vlanBytes)
	frame := p.frame(buffer)
	copy(frame, bytes[:addressesBytes])
	binary.BigEndian.PutUint16(frame[addressesBytes:], tpid)
	binary.BigEndian.PutUint16(frame[addressesBytes+2:], tci)
	copy(frame[addressesBytes+vlanBytes:], bytes[addressesBytes:])
}

// tag puts the VLAN tag into the frame in a buffer that has room for it.
func (p *pool) tag(buffer int32, tpid, tci uint16) {
	untagged := p.frame(buffer)
	p.length[buffer] += vlanBytes
	frame := p.frame(buffer)
	copy(frame[addressesBytes+vlanBytes:], untagged[addressesBytes:])
	binary.BigEndian.PutUint16(frame[addressesBytes:], tpid)
	binary.BigEndian.PutUint16(frame[addressesBytes+2:], tci)
}

// finishChecksum completes the TCP or UDP checksum of an IPv4 or IPv6 frame whose field holds only the sum of
// the pseudo header, as a host leaves it to a device with checksum offload. Other frames stay as they are.
func finishChecksum(frame []byte) {
	if len(frame) < ethernetBytes {
		return
	}
	packet := frame[ethernetBytes:]
	var protocol byte
	var segment []byte
	switch binary.BigEndian.Uint16(frame[addressesBytes:]) {
	case unix.ETH_P_IP:
		if len(packet) < 20 {
			return
		}
		header, total := int(packet[0]&0x0f)*4, int(binary.BigEndian.Uint16(packet[2:]))
		if header < 20 || total < header || total > len(packet) {
			return
		}
		protocol, segment = packet[9], packet[header:total]
	case unix.ETH_P_IPV6:
		if len(packet) < 40 {
			return
		}
		end := 40 + int(binary.BigEndian.Uint16(packet[4:]))
		if end > len(packet) {
			return
		}
		protocol, segment = packet[6], packet[40:end]
	default:
		return
	}
	offset := 16
	switch protocol {
	case unix.IPPROTO_TCP:
	case unix.IPPROTO_UDP:
		offset = 6
	default:
		return
	}
	if len(segment) < offset+2 {
		return
	}
	sum := ^fold(segment)
	if sum == 0 && protocol == unix.IPPROTO_UDP {
		sum = 0xffff // 0 would mean that there is none
	}
	binary.BigEndian.PutUint16(segment[offset:], sum)
}

// fold is the one's complement sum of 16-bit words (RFC 1071).
func fold(data []byte) uint16 {
	var sum uint64
	for len(data) >= 2 {
		sum += uint64(binary.BigEndian.Uint16(data))
		data = data[2:]
	}
	if len(data) == 1 {
		sum += uint64(data[0]) << 8
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return uint16(sum)
}
