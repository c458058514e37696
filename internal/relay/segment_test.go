package relay

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"
)

const testSegmentPart = 100

// tcpSegment is a TCP segment as a host leaves it to its device, behind its header; ip is where IP begins.
func tcpSegment(ipv6 bool, ip, options int, payload []byte) (header, frame []byte) {
	addresses, addressesAt, ipBytes, kind := 8, 12, 20, byte(tcp4)
	if ipv6 {
		addresses, addressesAt, ipBytes, kind = 32, 8, 40, byte(tcp6)
	}
	frame = make([]byte, ip+ipBytes+20+options+len(payload))
	network, tcp := frame[ip:], frame[ip+ipBytes:]
	for i := range addresses {
		network[addressesAt+i] = byte(7 * i)
	}
	if ipv6 {
		network[0], network[6] = 0x60, unix.IPPROTO_TCP
		binary.BigEndian.PutUint16(network[4:], uint16(len(tcp)))
	} else {
		network[0], network[9] = 0x45, unix.IPPROTO_TCP
		binary.BigEndian.PutUint16(network[2:], uint16(len(network)))
		binary.BigEndian.PutUint16(network[4:], 0xffff) // the identification goes on from here
		binary.BigEndian.PutUint16(network[10:], ^fold(network[:20]))
	}
	binary.BigEndian.PutUint32(tcp[4:], 0xffffff00) // the sequence number, too
	tcp[12], tcp[13] = byte((20+options)/4)<<4, tcpFIN|tcpPSH|tcpCWR
	copy(tcp[20+options:], payload)
	header = make([]byte, vnetHeaderBytes)
	header[0], header[1] = needsChecksum, kind|ecn
	binary.NativeEndian.PutUint16(header[4:], testSegmentPart)
	binary.NativeEndian.PutUint16(header[6:], uint16(ip+ipBytes))
	binary.NativeEndian.PutUint16(header[8:], 16)
	return header, frame
}

func TestASegmentIsCutAsADeviceCutsIt(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for range 300 {
		payload := make([]byte, 1+r.IntN(5*testSegmentPart))
		for i := range payload {
			payload[i] = byte(r.Uint32())
		}
		ipv6, ip, options := r.IntN(2) == 0, ethernetBytes+vlanBytes*r.IntN(2), 4*r.IntN(4)
		raw, segment := tcpSegment(ipv6, ip, options, payload)
		h := readVnetHeader(raw)
		frames, headers := h.frames(segment, ip)
		if want := (len(payload) + testSegmentPart - 1) / testSegmentPart; frames != want {
			t.Fatalf("%d bytes in %d frames, want %d", len(payload), frames, want)
		}
		var got []byte
		for number := range frames {
			frame := make([]byte, h.bytesOf(number, frames, headers, len(segment)))
			h.cut(frame, segment, ip, number, frames, headers)
			network, tcp := frame[ip:h.checksum], frame[h.checksum:]
			pseudo := []byte{0, unix.IPPROTO_TCP, byte(len(tcp) >> 8), byte(len(tcp))}
			if ipv6 {
				pseudo = append(pseudo, network[8:40]...)
				if length := int(binary.BigEndian.Uint16(network[4:])); length != len(tcp) {
					t.Fatalf("frame %d: IPv6 says %d bytes of %d", number, length, len(tcp))
				}
			} else {
				pseudo = append(pseudo, network[12:20]...)
				if fold(network) != 0xffff || int(binary.BigEndian.Uint16(network[2:])) != len(network)+len(tcp) ||
					binary.BigEndian.Uint16(network[4:]) != uint16(0xffff+number) {
					t.Fatalf("frame %d: IPv4 header %x", number, network)
				}
			}
			if sum := fold(append(pseudo, tcp...)); sum != 0xffff {
				t.Fatalf("frame %d: a receiver's sum is %#x", number, sum)
			}
			if at := binary.BigEndian.Uint32(tcp[4:]) - 0xffffff00; int(at) != len(got) {
				t.Fatalf("frame %d begins at %d, want %d", number, at, len(got))
			}
			flags := byte(0)
			if number == 0 {
				flags |= tcpCWR
			}
			if number == frames-1 {
				flags |= tcpFIN | tcpPSH
			}
			if tcp[13] != flags {
				t.Fatalf("frame %d of %d has flags %#x, want %#x", number, frames, tcp[13], flags)
			}
			got = append(got, frame[headers:]...)
		}
		if !bytes.Equal(got, payload) {
			t.Fatalf("%d bytes came out of the frames, not the %d that went in", len(got), len(payload))
		}
	}
}

// Whatever a header says of whatever frame, it is cut within its bounds, all of it, or not at all.
func FuzzCut(f *testing.F) {
	for _, ipv6 := range []bool{false, true} {
		header, segment := tcpSegment(ipv6, ethernetBytes, 12, make([]byte, 250))
		f.Add(header, segment, false)
		f.Add(header, segment[:60], true)
	}
	f.Fuzz(func(t *testing.T, raw, segment []byte, tagged bool) {
		if len(raw) < vnetHeaderBytes || len(segment) < ethernetBytes {
			return
		}
		ip := ethernetBytes
		if tagged {
			ip += vlanBytes
		}
		h := readVnetHeader(raw)
		frames, headers := h.frames(segment, ip)
		cut := headers
		for number := range frames {
			frame := make([]byte, h.bytesOf(number, frames, headers, len(segment)))
			h.cut(frame, segment, ip, number, frames, headers)
			cut += len(frame) - headers
		}
		if frames > 0 && cut != len(segment) {
			t.Fatalf("%d of %d bytes came out", cut, len(segment))
		}
		before := bytes.Clone(segment)
		if h.finish(segment) && h.flags&needsChecksum == 0 && !bytes.Equal(before, segment) {
			t.Fatal("a frame that needs no checksum got one")
		}
	})
}
