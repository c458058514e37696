package relay

import (
	"net"
	"testing"
	"time"

	"ncp-testbed/internal/netns"
	"ncp-testbed/internal/test/testnet"
)

// within runs a function in a network namespace.
func within(t *testing.T, name string, f func() error) {
	t.Helper()
	if err := netns.Within(testnet.Path(name), f); err != nil {
		t.Fatal(err)
	}
}

// Of three links, the receiver is told of the outer two: what arrives at the one between must not get to it.
func TestReceiverTakesItsOwnInterfacesOnly(t *testing.T) {
	n := testnet.New(t, testnet.Link{Name: "one"}, testnet.Link{Name: "two"}, testnet.Link{Name: "three"})
	var r *receiver
	want := map[int32]int{}
	within(t, n.Fabric, func() error {
		var indexes []int
		for _, name := range []string{"l1a", "l1b", "l3a", "l3b"} {
			device, err := net.InterfaceByName(name)
			if err != nil {
				return err
			}
			indexes = append(indexes, device.Index)
			if name == "l1a" || name == "l3a" {
				want[int32(device.Index)] = 5
			}
		}
		var err error
		if r, err = openReceiver(1518); err != nil {
			return err
		}
		return r.listen(indexes)
	})
	defer r.close()
	sent := time.Now()
	for link := 1; link <= 3; link++ {
		within(t, n.Hosts["h1"], func() error {
			conn, err := net.Dial("udp4", testnet.Address(link, 2)+":9")
			if err != nil {
				return err
			}
			defer conn.Close()
			for range 5 {
				if _, err := conn.Write(make([]byte, 100)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	time.Sleep(100 * time.Millisecond)
	got := map[int32]int{}
	var frame arrived
	for r.take(&frame) {
		got[frame.ifindex]++
		if frame.length != 142 || len(frame.bytes) != 142 {
			t.Errorf("a frame of %d bytes, %d of them in the ring, want 142", frame.length, len(frame.bytes))
		}
		if at := frame.wall.Time(); at.Before(sent) || at.After(time.Now()) {
			t.Errorf("a frame was received at %v, sent after %v", at, sent)
		}
		r.release()
	}
	if len(got) != len(want) {
		t.Errorf("frames of interfaces %v, want %v", got, want)
	}
	for index, frames := range want {
		if got[index] != frames {
			t.Errorf("interface %d: %d frames, want %d", index, got[index], frames)
		}
	}
	if r.drops() != 0 {
		t.Errorf("%d frames dropped", r.drops())
	}
}
