package wire

import (
	"bytes"
	"encoding/hex"
	"errors"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"
)

// golden holds packets and the bytes that npm's @nkn/ncp 1.1.2 writes for them.
var golden = []struct {
	name   string
	packet Packet
	hex    string
}{
	{"data", Packet{Sequence: 300, Data: []byte{1, 2, 3}}, "08ac021203010203"},
	{"acks", Packet{AckStarts: []uint32{1, 200, 4294967295}, AckCounts: []uint32{1, 128, 2}, BytesRead: 5e9},
		"1a0801c801ffffffff0f2204018001022880e497d012"},
	{"acks without counts", Packet{AckStarts: []uint32{7, 9}, BytesRead: 1}, "1a0207092801"},
	{"handshake", Packet{Handshake: true, ClientIDs: []string{"fast", "slow"}, WindowBytes: 4 << 20, MTUBytes: 1024},
		"3204666173743204736c6f7738808080024080085001"},
	{"close", Packet{Close: true}, "4801"},
}

func TestGoldenBytes(t *testing.T) {
	for _, g := range golden {
		want, err := hex.DecodeString(g.hex)
		if err != nil {
			t.Fatal(err)
		}
		if got := g.packet.Append(nil); !bytes.Equal(got, want) {
			t.Errorf("%s: encoded %x, npm writes %x", g.name, got, want)
		}
		var got Packet
		if err := got.Decode(want); err != nil || !equal(got, g.packet) {
			t.Errorf("%s: decoded %+v, %v", g.name, got, err)
		}
	}
}

func TestUnpackedNumbersAndUnknownFields(t *testing.T) {
	var buf []byte
	for _, v := range []uint64{5, 6, 1<<33 + 7} {
		buf = protowire.AppendTag(buf, fieldAckStarts, protowire.VarintType)
		buf = protowire.AppendVarint(buf, v)
	}
	buf = protowire.AppendTag(buf, 99, protowire.Fixed64Type)
	buf = protowire.AppendFixed64(buf, 1)
	buf = protowire.AppendTag(buf, fieldSequence, protowire.BytesType) // known number, other type
	buf = protowire.AppendBytes(buf, []byte{1})
	var p Packet
	if err := p.Decode(buf); err != nil {
		t.Fatal(err)
	}
	if want := []uint32{5, 6, 7}; !slices.Equal(p.AckStarts, want) || p.Sequence != 0 {
		t.Errorf("got starts %v, sequence %d; want %v, 0", p.AckStarts, p.Sequence, want)
	}
}

func TestDecodeRejects(t *testing.T) {
	manyIDs := Packet{ClientIDs: make([]string, MaxClientIDs+1)}
	for name, buf := range map[string][]byte{
		"cut tag":          {0x80},
		"cut varint":       {0x08, 0x80},
		"length too long":  {0x12, 0xff, 0xff, 0xff, 0xff, 0x0f},
		"cut packed":       {0x1a, 0x01, 0x80},
		"not UTF-8":        {0x32, 0x01, 0xff},
		"too many ids":     manyIDs.Append(nil),
		"field number 0":   {0x00, 0x00},
		"unmatched group":  {0x5b},
		"reserved type":    {0x0e},
		"overflowing bits": {0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
	} {
		var p Packet
		if err := p.Decode(buf); err == nil {
			t.Errorf("%s: decoded to %+v, want an error", name, p)
		}
	}
}

func TestAckRangesLeftOut(t *testing.T) {
	type r struct{ start, count uint32 }
	for _, c := range []struct {
		packet Packet
		want   []r
		err    error
	}{
		{packet: Packet{}},
		{packet: Packet{AckStarts: []uint32{3, 8}}, want: []r{{3, 1}, {8, 1}}},
		{packet: Packet{AckCounts: []uint32{4}}, want: []r{{1, 4}}},
		{packet: Packet{AckStarts: []uint32{3, 8}, AckCounts: []uint32{2, 5}}, want: []r{{3, 2}, {8, 5}}},
		{packet: Packet{AckStarts: []uint32{3, 8}, AckCounts: []uint32{2}}, err: ErrAckLists},
	} {
		n, err := c.packet.AckRanges()
		if !errors.Is(err, c.err) {
			t.Errorf("%+v: error %v, want %v", c.packet, err, c.err)
		}
		var got []r
		for i := range n {
			start, count := c.packet.AckRange(i)
			got = append(got, r{start, count})
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: ranges %v, want %v", c.packet, got, c.want)
		}
	}
}

func TestRoundTripAgainstGoProtobuf(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := Packet{
			Sequence:    rapid.Uint32().Draw(rt, "sequence"),
			Data:        rapid.SliceOfN(rapid.Byte(), 0, 64).Draw(rt, "data"),
			AckStarts:   rapid.SliceOfN(rapid.Uint32(), 0, 8).Draw(rt, "starts"),
			AckCounts:   rapid.SliceOfN(rapid.Uint32(), 0, 8).Draw(rt, "counts"),
			BytesRead:   rapid.Uint64().Draw(rt, "bytes read"),
			ClientIDs:   rapid.SliceOfN(rapid.String(), 0, 4).Draw(rt, "ids"),
			WindowBytes: rapid.Uint32().Draw(rt, "window"),
			MTUBytes:    rapid.Uint32().Draw(rt, "mtu"),
			Close:       rapid.Bool().Draw(rt, "close"),
			Handshake:   rapid.Bool().Draw(rt, "handshake"),
		}
		buf := p.Append(nil)
		if want := oracleEncode(t, p); !bytes.Equal(buf, want) {
			rt.Fatalf("encoded %x, protobuf %x", buf, want)
		}
		var got Packet
		if err := got.Decode(buf); err != nil || !equal(got, p) {
			rt.Fatalf("decoded %+v, %v; want %+v", got, err, p)
		}
	})
}

// FuzzDecode checks that whatever Go's protobuf accepts is read alike, that
// what it refuses is refused, and that a decoded packet encodes to one that
// decodes to the same.
func FuzzDecode(f *testing.F) {
	for _, g := range golden {
		buf, _ := hex.DecodeString(g.hex)
		f.Add(buf)
	}
	f.Fuzz(func(t *testing.T, buf []byte) {
		var p Packet
		err := p.Decode(buf)
		want, wantErr := oracleDecode(buf)
		if err != nil {
			if wantErr == nil && !errors.Is(err, errClientIDs) {
				t.Fatalf("refused %x (%v), protobuf reads %+v", buf, err, want)
			}
			return
		}
		if wantErr != nil {
			t.Fatalf("read %x as %+v, protobuf refuses: %v", buf, p, wantErr)
		}
		if !equal(p, want) {
			t.Fatalf("read %x as %+v, protobuf as %+v", buf, p, want)
		}
		var again Packet
		if err := again.Decode(p.Append(nil)); err != nil || !equal(again, p) {
			t.Fatalf("second reading of %+v: %+v, %v", p, again, err)
		}
	})
}

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	data := Packet{Sequence: 70000, Data: make([]byte, 1024)}
	acks := Packet{AckStarts: make([]uint32, 32), AckCounts: make([]uint32, 32), BytesRead: 1 << 40}
	buf := make([]byte, 0, 2048)
	var p Packet
	p.Decode(acks.Append(buf))
	if n := testing.AllocsPerRun(100, func() {
		for _, q := range []*Packet{&data, &acks} {
			if err := p.Decode(q.Append(buf[:0])); err != nil {
				t.Fatal(err)
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations for two packets, want 0", n)
	}
}

func equal(a, b Packet) bool {
	return a.Sequence == b.Sequence && bytes.Equal(a.Data, b.Data) &&
		slices.Equal(a.AckStarts, b.AckStarts) && slices.Equal(a.AckCounts, b.AckCounts) &&
		a.BytesRead == b.BytesRead && slices.Equal(a.ClientIDs, b.ClientIDs) &&
		a.WindowBytes == b.WindowBytes && a.MTUBytes == b.MTUBytes &&
		a.Close == b.Close && a.Handshake == b.Handshake
}
