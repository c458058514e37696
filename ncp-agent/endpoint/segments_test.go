package endpoint

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

func packetsOfSizes(sizes ...int) [][]byte {
	var packets [][]byte
	for i, n := range sizes {
		packets = append(packets, bytes.Repeat([]byte{byte(i)}, n))
	}
	return packets
}

func TestRunLength(t *testing.T) {
	for _, c := range []struct {
		sizes []int
		limit int
		want  int
	}{
		{[]int{10}, 64, 1},
		{[]int{10, 10, 10}, 64, 3},
		{[]int{10, 10, 10}, 2, 2},
		{[]int{10, 10, 10}, 1, 1},
		{[]int{10, 10, 4, 10}, 64, 3}, // the last of a run may be shorter
		{[]int{10, 11}, 64, 1},
		{[]int{10, 0}, 64, 1},
		{[]int{0, 0}, 64, 1},
		{[]int{40000, 40000}, 64, 1}, // beyond a datagram's length
	} {
		if got := runLength(packetsOfSizes(c.sizes...), c.limit); got != c.want {
			t.Errorf("%v, at most %d: %d, want %d", c.sizes, c.limit, got, c.want)
		}
	}
}

// joined is the control message with which the kernel gives joined datagrams.
func joined(size int32) []byte {
	control := make([]byte, joinedControl)
	header := (*unix.Cmsghdr)(unsafe.Pointer(&control[0]))
	header.Level, header.Type = unix.IPPROTO_UDP, unix.UDP_GRO
	header.SetLen(unix.CmsgLen(joinedBytes))
	binary.NativeEndian.PutUint32(control[unix.CmsgLen(0):], uint32(size))
	return control
}

func TestAppendSegments(t *testing.T) {
	data := make([]byte, 25)
	for _, c := range []struct {
		control []byte
		want    []int
	}{
		{nil, []int{25}},
		{joined(10), []int{10, 10, 5}},
		{joined(25), []int{25}},
		{joined(0), []int{25}},
		{joined(-1), []int{25}},
		{make([]byte, joinedControl), []int{25}}, // another message
	} {
		var got []int
		for _, p := range appendSegments(nil, data, c.control) {
			got = append(got, len(p))
		}
		if len(got) != len(c.want) || got[0] != c.want[0] || got[len(got)-1] != c.want[len(c.want)-1] {
			t.Errorf("% x: segments of %v bytes, want %v", c.control, got, c.want)
		}
	}
}

// Whatever the control message says, the segments are the data, cut.
func FuzzAppendSegments(f *testing.F) {
	f.Add([]byte("abcdefg"), joined(3))
	f.Add([]byte{}, joined(0))
	f.Fuzz(func(t *testing.T, data, control []byte) {
		packets := appendSegments(nil, data, control)
		if got := bytes.Join(packets, nil); !bytes.Equal(got, data) || len(packets) > max(1, len(data)) {
			t.Fatalf("%d bytes became %d in %d packets", len(data), len(got), len(packets))
		}
	})
}

// Datagrams of any sizes arrive as they were sent, in order, whether or not
// the kernel joins them; and a socket that has to keep a send buffer does not
// ask for it.
func TestDatagramsStayApart(t *testing.T) {
	ctx := context.Background()
	here, there := endpoints(t, 1)
	const most = 2048
	var sizes []int
	for i := range 400 {
		sizes = append(sizes, [...]int{1031, 1031, 1031, 1031, 7, 2048, 1030, 1}[i%97%8])
	}
	want := packetsOfSizes(sizes...)
	for name, buffer := range map[string]int{"joined": 0, "one by one": 500} {
		t.Run(name, func(t *testing.T) {
			here[0].SendBufferPackets = buffer
			ends := [2]*udpSocket{}
			for i, e := range []Endpoint{here[0], there[0]} {
				s, err := udpOpener{e, sizesOf(most)}.open(ctx, func(error) {})
				if err != nil {
					t.Fatal(err)
				}
				defer s.close()
				ends[i] = s.(*udpSocket)
			}
			if got := ends[0].segments > 1; got != (buffer == 0) {
				t.Errorf("joins %v with a send buffer of %d packets", got, buffer)
			}
			for rest := want; len(rest) > 0; {
				n, err := ends[0].write(rest[:min(maxBatch, len(rest))])
				if err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
			for got := 0; got < len(want); {
				packets, err := ends[1].read()
				if err != nil {
					t.Fatal(err)
				}
				for _, p := range packets {
					if !bytes.Equal(p, want[got]) {
						t.Fatalf("datagram %d has %d bytes, want %d", got, len(p), len(want[got]))
					}
					got++
				}
			}
		})
	}
}

func sizesOf(most int) sizes { return sizes{full: 1031, largest: most} }

// A device that does not segment gets single datagrams.
func TestRefusedSegments(t *testing.T) {
	for err, want := range map[error]bool{unix.EIO: true, unix.EINVAL: true, unix.ECONNREFUSED: false, net.ErrClosed: false, io.EOF: false} {
		if got := refusesSegments(err); got != want {
			t.Errorf("%v: %v", err, got)
		}
	}
}
