package endpoint

import (
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ncp-testbed/internal/sockets"
)

// The kernel holds exactly the packets asked for before a write waits: counted
// behind a token bucket that lets next to nothing out, in a network namespace
// of the test's own thread.
func TestSendBufferHoldsItsPackets(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, for a network namespace")
	}
	type outcome struct {
		skip       string
		sent, want int
		warnings   []string
		err        error
	}
	outcomes := make(chan outcome)
	go func() {
		defer close(outcomes)
		runtime.LockOSThread() // never unlocked: the thread and its namespace end here
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			outcomes <- outcome{skip: err.Error()}
			return
		}
		for _, c := range []struct{ packets, datagram int }{{2, 1031}, {13, 1031}, {103, 1031}, {1024, 1031}, {50, 200}, {50, 1472}} {
			sent, warnings, err := fillSendBuffer(c.packets, c.datagram)
			outcomes <- outcome{sent: sent, want: c.packets, warnings: warnings, err: err}
		}
	}()
	for o := range outcomes {
		if o.skip != "" {
			t.Skip(o.skip)
		}
		if o.err != nil {
			t.Fatal(o.err)
		}
		if o.sent != o.want || len(o.warnings) > 0 {
			t.Errorf("%d packets went in, want %d; warnings %v", o.sent, o.want, o.warnings)
		}
	}
}

func fillSendBuffer(packets, datagram int) (sent int, warnings []string, err error) {
	setup := `ip link add d0 type veth peer name d1 && ip link set d1 up && ip addr add 198.18.0.1/30 dev d0 && ip link set d0 up &&
		ip neigh add 198.18.0.2 lladdr 02:00:00:00:00:01 dev d0 && tc qdisc add dev d0 root tbf rate 8bit burst 1600 limit 10m`
	if out, err := exec.Command("sh", "-c", setup).CombinedOutput(); err != nil {
		return 0, nil, errors.New(strings.TrimSpace(string(out)))
	}
	defer exec.Command("ip", "link", "del", "d0").Run()
	e := Endpoint{Local: netip.MustParseAddrPort("198.18.0.1:30001"), Remote: netip.MustParseAddrPort("198.18.0.2:30001"), SendBufferPackets: packets}
	s, err := openUDP(e, sizes{full: datagram, largest: datagram})
	if err != nil {
		return 0, nil, err
	}
	defer s.udp.Close()
	truesize, err := measureTruesize(e, datagram)
	if err != nil {
		return 0, nil, err
	}
	err = sockets.Control(s.udp, func(fd int) error {
		for range 2 * packets {
			if err := unix.Send(fd, make([]byte, datagram), unix.MSG_DONTWAIT); err != nil {
				break
			}
		}
		// What the bucket let out at once is not held any more.
		held, err := unix.IoctlGetInt(fd, unix.SIOCOUTQ)
		sent = held / truesize
		return err
	})
	return sent, s.warnings(), err
}
