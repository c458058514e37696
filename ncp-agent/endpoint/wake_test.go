package endpoint

import (
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ncp-testbed/internal/linkmodel"
)

// What a writer finds in its socket when the kernel lets it go on, behind the
// shaper of a link: what [linkmodel.Direction.Wakes] says, in packets. It may find
// less if it was late.
func TestBlockedWriterIsWokenAsTheModelHasIt(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, for a network namespace")
	}
	type outcome struct {
		skip  string
		asked int
		held  []int
		err   error
	}
	outcomes := make(chan outcome)
	go func() {
		defer close(outcomes)
		runtime.LockOSThread() // never unlocked: the thread and its namespace end here
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			outcomes <- outcome{skip: err.Error()}
			return
		}
		for _, packets := range []int{2, 3, 4, 13, 102, 103} {
			held, err := heldAtWakes(packets, 8)
			outcomes <- outcome{asked: packets, held: held, err: err}
		}
	}()
	for o := range outcomes {
		if o.skip != "" {
			t.Skip(o.skip)
		}
		if o.err != nil {
			t.Fatal(o.err)
		}
		want := heldAtModelsWake(o.asked)
		t.Logf("%d packets: woken with %v, by the model with %d", o.asked, o.held, want)
		if slices.Max(o.held) != want {
			t.Errorf("a buffer of %d packets: woken with %v of them, the model says %d", o.asked, o.held, want)
		}
	}
}

// heldAtModelsWake empties a full modelled queue until its sender is woken.
func heldAtModelsWake(packets int) int {
	queue := linkmodel.Queue{Mode: linkmodel.QueueBackPressure, Packets: packets}
	d := linkmodel.NewPipe(linkmodel.Properties{FramesPPS: 1000, Queue: queue}, 1, "link", "ab", 0, linkmodel.Hooks[int]{})
	for i := range packets {
		d.Push(i, 1000, 0)
	}
	for at := time.Duration(0); !d.Writable(); at += 1e6 {
		d.Pop(at)
	}
	held, _ := d.Held()
	return held
}

// heldAtWakes fills a socket's buffer again and again, and returns how many
// packets were still in it each time that its writer was woken. The first time
// is left out: Go has kept word of a socket that was writable from the start.
func heldAtWakes(packets, times int) (held []int, err error) {
	// 250 packets/s: one leaves every 4 ms, so that a writer has time to look.
	setup := `ip link add d0 type veth peer name d1 && ip link set d1 up && ip addr add 198.18.0.1/30 dev d0 && ip link set d0 up &&
		ip neigh add 198.18.0.2 lladdr 02:00:00:00:00:01 dev d0 && tc qdisc add dev d0 root handle 1: htb default 1 &&
		tc class add dev d0 parent 1: classid 1:1 htb rate 2146kbit burst 3000 cburst 3000`
	if out, err := exec.Command("sh", "-c", setup).CombinedOutput(); err != nil {
		return nil, errors.New(strings.TrimSpace(string(out)))
	}
	defer exec.Command("ip", "link", "del", "d0").Run()
	const datagram = 1031
	e := Endpoint{Local: netip.MustParseAddrPort("198.18.0.1:30001"), Remote: netip.MustParseAddrPort("198.18.0.2:30001"), SendBufferPackets: packets}
	s, err := openUDP(e, sizes{full: datagram, largest: datagram})
	if err != nil {
		return nil, err
	}
	defer s.udp.Close()
	truesize, err := measureTruesize(e, datagram)
	if err != nil {
		return nil, err
	}
	raw, err := s.udp.SyscallConn()
	if err != nil {
		return nil, err
	}
	waits := 0
	err = raw.Write(func(fd uintptr) bool {
		if waits > 1 {
			now, _ := unix.IoctlGetInt(int(fd), unix.SIOCOUTQ)
			held = append(held, now/truesize)
		}
		for len(held) < times {
			if unix.Send(int(fd), make([]byte, datagram), unix.MSG_DONTWAIT) != nil {
				waits++
				return false // until the kernel wakes the writer
			}
		}
		return true
	})
	return held, err
}
