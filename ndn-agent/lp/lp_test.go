package lp

import (
	"bytes"
	"testing"
	"time"

	"ncp-testbed/ndn-agent/packet"
	"ncp-testbed/ndn-agent/tlv"

	"pgregory.net/rapid"
)

// network is a packet of about so many bytes; the link protocol looks at its
// type only.
func network(size int) []byte {
	value := make([]byte, size)
	for i := range value {
		value[i] = byte(i * 7)
	}
	return tlv.Append(nil, packet.TypeData, value)
}

func clone(frames [][]byte) [][]byte {
	var out [][]byte
	for _, f := range frames {
		out = append(out, bytes.Clone(f))
	}
	return out
}

// Whatever the order in which fragments come, and whatever else comes between
// them, the packet is the one that was sent, once.
func TestPacketsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := Encoder{MTU: rapid.SampledFrom([]int{0, MinMTU, 1400, 8800}).Draw(t, "mtu")}
		var d Decoder
		var frames [][]byte
		sent := map[string]Packet{}
		for i := range rapid.IntRange(1, 8).Draw(t, "packets") {
			p := Packet{
				Network: network(i + rapid.SampledFrom([]int{0, 100, 1400, 4400, 8000}).Draw(t, "size")), Mark: rapid.Uint64Range(0, 3).Draw(t, "mark"),
				PitToken: string(rapid.SliceOfN(rapid.Byte(), 0, maxPitTokenBytes).Draw(t, "token")),
				IsNack:   rapid.Bool().Draw(t, "nack"),
			}
			if p.IsNack {
				p.Nack = rapid.SampledFrom([]uint64{NackNone, NackCongestion, NackNoRoute}).Draw(t, "reason")
			}
			got, err := e.Encode(p)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range got {
				if e.MTU > 0 && len(f) > e.MTU {
					t.Fatalf("a link packet of %d bytes, the bound is %d", len(f), e.MTU)
				}
			}
			frames = append(frames, clone(got)...)
			sent[string(p.Network)] = p
		}
		for _, f := range rapid.Permutation(frames).Draw(t, "order") {
			p, whole, err := d.Decode(0, f)
			if err != nil {
				t.Fatal(err)
			}
			if !whole {
				continue
			}
			want, ok := sent[string(p.Network)]
			if !ok || p.Mark != want.Mark || p.PitToken != want.PitToken || p.IsNack != want.IsNack || p.Nack != want.Nack {
				t.Fatalf("%+v came out as %+v", want, p)
			}
		}
		if d.Dropped != 0 || len(d.partial) != 0 || d.bytes != 0 {
			t.Fatalf("%d dropped, %d partial, %d bytes", d.Dropped, len(d.partial), d.bytes)
		}
	})
}

// A packet without headers that fits goes as it is, as peers without the link
// protocol expect.
func TestBarePackets(t *testing.T) {
	e := Encoder{MTU: 1400}
	frames, err := e.Encode(Packet{Network: network(100)})
	if err != nil || len(frames) != 1 || !bytes.Equal(frames[0], network(100)) {
		t.Errorf("%d frames, %v", len(frames), err)
	}
}

func TestTooManyFragments(t *testing.T) {
	e := Encoder{MTU: MinMTU}
	if _, err := e.Encode(Packet{Network: network(60000)}); err == nil {
		t.Error("a packet of more fragments than a peer takes was sent")
	}
}

// Half packets without end leave a bounded memory and are counted.
func TestReassemblyIsBounded(t *testing.T) {
	var d Decoder
	e := Encoder{MTU: 8800}
	for i := range 500 {
		frames, err := e.Encode(Packet{Network: network(60000)})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range frames[1:] {
			if _, whole, err := d.Decode(time.Duration(i)*time.Microsecond, f); whole || err != nil {
				t.Fatal(whole, err)
			}
		}
		if len(d.partial) > maxPartial || d.bytes > maxPartialBytes+1<<16 {
			t.Fatalf("%d packets, %d bytes wait", len(d.partial), d.bytes)
		}
	}
	if d.Dropped < 400 {
		t.Errorf("%d of 500 are counted as dropped", d.Dropped)
	}
	// After the time that a fragment is waited for there is nothing left but the latest.
	frames, _ := e.Encode(Packet{Network: network(60000)})
	d.Decode(time.Hour, bytes.Clone(frames[0]))
	if len(d.partial) != 1 || d.bytes > 8800 {
		t.Errorf("%d packets, %d bytes wait", len(d.partial), d.bytes)
	}
}

func TestHeadersOfOthers(t *testing.T) {
	fragment := tlv.Append(nil, typeFragment, network(10))
	for kind, fine := range map[uint64]bool{0x0330: true, 0x0334: true, 0x0344: true, 808: true, 804: true, 805: false, 0x54: false, 960: false} {
		var d Decoder
		frame := tlv.Append(nil, typePacket, append(tlv.Append(nil, kind, []byte{1}), fragment...))
		_, whole, err := d.Decode(0, frame)
		if whole != fine || (err == nil) != fine {
			t.Errorf("header %d: whole %t, %v", kind, whole, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	e := Encoder{MTU: MinMTU}
	frames, _ := e.Encode(Packet{Network: network(600), Mark: 1, PitToken: "t"})
	for _, frame := range frames {
		f.Add(frame, frames[len(frames)-1])
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var d Decoder
		for i, frame := range [][]byte{first, second, first} {
			p, whole, err := d.Decode(time.Duration(i)*time.Millisecond, frame)
			if whole && (err != nil || len(p.Network) == 0 || len(p.Network) > len(first)+len(second)) {
				t.Errorf("%d bytes came out, %v", len(p.Network), err)
			}
			sum := 0
			for _, m := range d.partial {
				sum += m.bytes
			}
			if sum != d.bytes {
				t.Errorf("%d bytes wait, %d are counted", sum, d.bytes)
			}
		}
	})
}
