package endpoint

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ncp-testbed/internal/sockets"
	agent "ncp-testbed/ncp-agent/config"
)

// What a paused reader's socket holds of a session's full packets is what the simulator's holds: counted behind a
// veth, whose ends are in network namespaces of two threads of the test.
func TestPausedReaderHoldsWhatTheSimulatorsDoes(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, for network namespaces")
	}
	const datagram = 1031
	here := Endpoint{Local: netip.MustParseAddrPort("198.18.0.1:30001"), Remote: netip.MustParseAddrPort("198.18.0.2:30001"), SendBufferPackets: 100}
	there := Endpoint{Local: here.Remote, Remote: here.Local, SendBufferPackets: 100, ReceiveBufferBytes: agent.ReceiveBufferBytes}
	sender, receiver := inNamespace(t), inNamespace(t)
	tid := 0
	receiver(func() error { tid = unix.Gettid(); return nil })
	sender(func() error {
		return shell(fmt.Sprintf(`ip link add d0 address 02:00:00:00:00:01 type veth peer name d1 address 02:00:00:00:00:02 netns %d &&
			ip addr add 198.18.0.1/30 dev d0 && ip link set d0 up && ip neigh add 198.18.0.2 lladdr 02:00:00:00:00:02 dev d0`, tid))
	})
	var from, to *udpSocket
	receiver(func() (err error) {
		if err := shell(`ip addr add 198.18.0.2/30 dev d1 && ip link set d1 up && ip neigh add 198.18.0.1 lladdr 02:00:00:00:00:01 dev d1`); err != nil {
			return err
		}
		to, err = openUDP(there, sizes{full: datagram, largest: datagram})
		return err
	})
	defer to.close()
	sender(func() (err error) {
		from, err = openUDP(here, sizes{full: datagram, largest: datagram})
		return err
	})
	defer from.close()
	packet := [][]byte{make([]byte, datagram)}
	for range 2 * agent.PausedReaderPackets {
		if _, err := from.write(packet); err != nil {
			t.Fatal(err)
		}
	}
	held := 0
	err := sockets.Control(to.udp, func(fd int) error {
		buf := make([]byte, datagram)
		for {
			if _, err := unix.Read(fd, buf); err != nil {
				return nil // there are no more
			}
			held++
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	// Linux 6.18 looks whether a packet still fits, 6.12 whether there is room at all.
	if held != agent.PausedReaderPackets && held != agent.PausedReaderPackets+1 {
		t.Errorf("the kernel holds %d packets, the simulator %d", held, agent.PausedReaderPackets)
	}
}

// inNamespace makes a network namespace, and returns what runs a function in it.
func inNamespace(t *testing.T) func(func() error) {
	requests, results := make(chan func() error), make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread and its namespace end here
		for do := range requests {
			results <- do()
		}
	}()
	t.Cleanup(func() { close(requests) })
	run := func(do func() error) {
		t.Helper()
		requests <- do
		if err := <-results; errors.Is(err, unix.EPERM) {
			t.Skip(err)
		} else if err != nil {
			t.Fatal(err)
		}
	}
	run(func() error { return unix.Unshare(unix.CLONE_NEWNET) })
	return run
}

func shell(commands string) error {
	if out, err := exec.Command("sh", "-c", commands).CombinedOutput(); err != nil {
		return errors.New(strings.TrimSpace(string(out)))
	}
	return nil
}
