package relay

import (
	"bytes"
	"encoding/binary"
	"net"
	"testing"

	"ncp-testbed/internal/linkmodel"
	"ncp-testbed/internal/timing"
)

// fuzzedMTU has frames of 64 bytes at most with a tag: a buffer of the pool has not a byte more.
const fuzzedMTU = 64 - maxHeaderBytes

// Whatever the kernel tells of a frame, what comes out of the model is that frame, with its tag, or nothing; and no
// other frame's memory is written to.
func FuzzAccept(f *testing.F) {
	f.Add(datagram(false, []byte("payload")), 0, int64(0), false, uint16(0), uint16(0), true)
	f.Add(datagram(true, nil), 0, int64(-5), true, uint16(0x88a8), uint16(7), true)
	f.Add(make([]byte, fuzzedMTU+maxHeaderBytes), 0, int64(1), true, uint16(0x8100), uint16(7), false) // with a second tag inside
	f.Add([]byte{1}, 1500, int64(1<<62), false, uint16(0), uint16(0), false)
	p, err := newPool(poolFrames, 0, fuzzedMTU+maxHeaderBytes)
	if err != nil {
		f.Fatal(err)
	}
	defer p.close()
	if p.stride != fuzzedMTU+maxHeaderBytes {
		f.Fatalf("buffers of %d bytes, want no more than a frame needs", p.stride)
	}
	f.Fuzz(func(t *testing.T, frame []byte, cut int, ageNS int64, vlan bool, tpid, tci uint16, unfinished bool) {
		l, err := newLoop(func(string, ...any) {})
		if err != nil {
			t.Fatal(err)
		}
		at := l.clock.read()
		d := &direction{link: "k", name: "ab", to: &net.Interface{Name: "l1b", MTU: fuzzedMTU}, lateness: &histogram{}, pool: p}
		d.model = linkmodel.NewPipe(linkmodel.Properties{}, 1, "k", "ab", at.now, linkmodel.Hooks[int32]{
			Drop: func(buffer int32, _ linkmodel.Cause) { p.give(buffer) },
			Copy: func(int32) (int32, bool) { return -1, false },
		})
		mine := p.take()
		p.give(mine)
		neighbour := p.memory[int(mine+1)*p.stride:][:p.stride]
		clear(neighbour)
		free := len(p.free)
		l.accept(d, &arrived{
			bytes: frame, length: len(frame) + max(0, cut), wall: at.wall - timing.Unix(ageNS),
			vlan: vlan, vlanTPID: tpid, vlanTCI: tci, checksumUnfinished: unfinished,
		}, &at)
		if !bytes.Equal(neighbour, make([]byte, p.stride)) {
			t.Fatalf("%d bytes, tagged %v: %x is in another frame's memory", len(frame), vlan, neighbour)
		}
		delivery, ok := d.model.Pop(l.clock.now())
		if ok == (d.faults.Total() > 0) {
			t.Fatalf("a frame of %d bytes: forwarded %v, dropped %+v", len(frame), ok, d.faults)
		}
		if ok {
			want := append([]byte(nil), frame...)
			if vlan {
				tag := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, tpid), tci)
				want = append(append(append([]byte(nil), frame[:addressesBytes]...), tag...), frame[addressesBytes:]...)
			}
			if unfinished {
				finishChecksum(want)
			}
			if got := p.frame(delivery.Frame); !bytes.Equal(got, want) {
				t.Fatalf("%x came out as %x, want %x", frame, got, want)
			}
			p.give(delivery.Frame)
		}
		if len(p.free) != free {
			t.Fatalf("%d of %d buffers are free in the end", len(p.free), free)
		}
	})
}
