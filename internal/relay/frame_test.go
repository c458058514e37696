package relay

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// datagram is an Ethernet frame with a UDP packet whose checksum is left to the device.
func datagram(ipv6 bool, payload []byte) []byte {
	udp := make([]byte, 8+len(payload))
	binary.BigEndian.PutUint16(udp[4:], uint16(len(udp)))
	copy(udp[8:], payload)
	frame := make([]byte, 14, 100+len(payload))
	var pseudo []byte
	if ipv6 {
		binary.BigEndian.PutUint16(frame[12:], 0x86dd)
		ip := make([]byte, 40)
		ip[0], ip[6] = 0x60, 17
		binary.BigEndian.PutUint16(ip[4:], uint16(len(udp)))
		for i := range 32 {
			ip[8+i] = byte(i)
		}
		pseudo = append(append([]byte(nil), ip[8:40]...), 0, 0, byte(len(udp)>>8), byte(len(udp)), 0, 0, 0, 17)
		frame = append(frame, ip...)
	} else {
		binary.BigEndian.PutUint16(frame[12:], 0x0800)
		ip := make([]byte, 20)
		ip[0], ip[9] = 0x45, 17
		binary.BigEndian.PutUint16(ip[2:], uint16(20+len(udp)))
		copy(ip[12:], []byte{198, 18, 1, 1, 198, 18, 1, 2})
		pseudo = append(append([]byte(nil), ip[12:20]...), 0, 17, byte(len(udp)>>8), byte(len(udp)))
		frame = append(frame, ip...)
	}
	binary.BigEndian.PutUint16(udp[6:], fold(pseudo))
	frame = append(frame, udp...)
	return frame
}

func TestUnfinishedChecksumsAreCompleted(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		payload := make([]byte, r.IntN(100))
		for i := range payload {
			payload[i] = byte(r.Uint32())
		}
		for _, ipv6 := range []bool{false, true} {
			frame := datagram(ipv6, payload)
			header := 34
			if ipv6 {
				header = 54
			}
			pseudo := binary.BigEndian.Uint16(frame[header+6:])
			finishChecksum(append(frame, 0, 0, 0)[:len(frame)]) // what follows the packet is not part of it
			// A receiver sums the pseudo header and the segment, checksum included, to all ones.
			if sum := uint32(pseudo) + uint32(fold(frame[header:])); sum != 0xffff && sum != 0x1fffe {
				t.Fatalf("IPv6 %v, %d bytes: a receiver gets %#x", ipv6, len(payload), sum)
			}
		}
	}
}

func FuzzFinishChecksum(f *testing.F) {
	f.Add(datagram(false, []byte("payload")))
	f.Add(datagram(true, []byte("payload")))
	f.Add([]byte{0, 1, 2})
	f.Fuzz(func(t *testing.T, frame []byte) {
		before := append([]byte(nil), frame...)
		finishChecksum(frame)
		changed := 0
		for i := range frame {
			if frame[i] != before[i] {
				changed++
			}
		}
		if changed > 2 {
			t.Fatalf("%d bytes of %x have changed", changed, before)
		}
	})
}
