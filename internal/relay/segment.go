package relay

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// A link with whole segments is handed what a host's TCP leaves to its device: up to segmentBytes at once, to be cut
// into frames, with a checksum that is to be completed. What is to be done stands in a header before the frame
// (PACKET_VNET_HDR of packet(7), struct virtio_net_hdr), and goes on to the receiving host with it. Where the link
// counts frames (a rate, an impairment), the relay does it itself, as a device would.
const (
	segmentBytes    = 1 << 16 // of an IP packet at most
	vnetHeaderBytes = 10

	needsChecksum = 1    // flag: the sum from start on is to be put at offset from there
	tcp4, tcp6    = 1, 4 // kinds of segments
	ecn           = 0x80 // beside the kind: the first frame alone has CWR
	tcpFIN        = 0x01
	tcpPSH        = 0x08
	tcpCWR        = 0x80
	tcpBytes      = 20
)

// vnetHeader is what stands before a frame of a link with whole segments.
type vnetHeader struct {
	flags, kind      byte
	size             int // of a frame's part of the segment
	checksum, offset int // where the checksummed part begins, and where in it the sum stands
}

func readVnetHeader(h []byte) vnetHeader {
	return vnetHeader{
		flags: h[0], kind: h[1], size: int(binary.NativeEndian.Uint16(h[4:])),
		checksum: int(binary.NativeEndian.Uint16(h[6:])), offset: int(binary.NativeEndian.Uint16(h[8:])),
	}
}

// shiftOffsets follows a tag that was put into the frame, in the header as the kernel reads it.
func shiftOffsets(header []byte, bytes int) {
	for _, at := range []int{2, 6} { // bytes of headers, beginning of the checksummed part
		binary.NativeEndian.PutUint16(header[at:], binary.NativeEndian.Uint16(header[at:])+uint16(bytes))
	}
}

// isGSO reports whether the frame is a segment that is to be cut.
func (h *vnetHeader) isGSO() bool { return h.kind != 0 }

// finish completes the frame's checksum if that was left to the device; false if the header makes no sense.
func (h *vnetHeader) finish(frame []byte) bool {
	if h.flags&needsChecksum == 0 {
		return true
	}
	if h.checksum < ethernetBytes || h.checksum+h.offset+2 > len(frame) {
		return false
	}
	sum := ^fold(frame[h.checksum:])
	if sum == 0 && h.offset == 6 { // UDP's, where 0 would mean that there is none
		sum = 0xffff
	}
	binary.BigEndian.PutUint16(frame[h.checksum+h.offset:], sum)
	return true
}

// frames is into how many a segment is to be cut, and how long the headers are that each of them has; 0 if it is none
// that can be cut. ip is where its IP header begins.
func (h *vnetHeader) frames(segment []byte, ip int) (frames, headers int) {
	kind := h.kind &^ ecn
	minHeader := map[byte]int{tcp4: 20, tcp6: 40}[kind]
	if minHeader == 0 || h.size == 0 || h.checksum < ip+minHeader || h.checksum+tcpBytes > len(segment) {
		return 0, 0
	}
	if kind == tcp4 && ip+int(segment[ip]&0x0f)*4 != h.checksum {
		return 0, 0
	}
	headers = h.checksum + int(segment[h.checksum+12]>>4)*4
	if headers < h.checksum+tcpBytes || headers > len(segment) {
		return 0, 0
	}
	return max(1, (len(segment)-headers+h.size-1)/h.size), headers
}

// bytesOf is the length of a segment's frame of a number, by the lengths of earlier frames.
func (h *vnetHeader) bytesOf(number, frames, headers, segmentBytes int) int {
	if number == frames-1 {
		return segmentBytes - number*h.size
	}
	return headers + h.size
}

// cut writes a segment's frame of a number, complete in itself, into frame, which has its length.
func (h *vnetHeader) cut(frame, segment []byte, ip, number, frames, headers int) {
	copy(frame, segment[:headers])
	copy(frame[headers:], segment[headers+number*h.size:])
	tcp := frame[h.checksum:]
	var addresses []byte
	if h.kind&^ecn == tcp4 {
		header := frame[ip:h.checksum]
		binary.BigEndian.PutUint16(header[2:], uint16(len(frame)-ip))
		binary.BigEndian.PutUint16(header[4:], binary.BigEndian.Uint16(header[4:])+uint16(number))
		binary.BigEndian.PutUint16(header[10:], 0)
		binary.BigEndian.PutUint16(header[10:], ^fold(header))
		addresses = header[12:20]
	} else {
		header := frame[ip:h.checksum]
		binary.BigEndian.PutUint16(header[4:], uint16(len(frame)-ip-40))
		addresses = header[8:40]
	}
	binary.BigEndian.PutUint32(tcp[4:], binary.BigEndian.Uint32(tcp[4:])+uint32(number*h.size))
	if number > 0 && h.kind&ecn != 0 {
		tcp[13] &^= tcpCWR
	}
	if number < frames-1 {
		tcp[13] &^= tcpFIN | tcpPSH
	}
	var pseudo [40]byte
	n := copy(pseudo[:], addresses)
	binary.BigEndian.PutUint16(pseudo[n:], unix.IPPROTO_TCP)
	binary.BigEndian.PutUint16(pseudo[n+2:], uint16(len(tcp)))
	binary.BigEndian.PutUint16(tcp[16:], fold(pseudo[:n+4]))
	binary.BigEndian.PutUint16(tcp[16:], ^fold(tcp))
}
