package relay_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ncp-testbed/internal/test/testnet"
)

func TestTCPCarriesAFileIntact(t *testing.T) {
	for name, c := range map[string]struct {
		checksums, segments string         // what hosts leave to the device: on or off
		link                map[string]any // beside the delay
		completed, whole    bool           // whether the relay completes checksums, and passes segments on whole
	}{
		"checksums by the host":              {"off", "off", nil, false, false},
		"checksums left to the device":       {"on", "off", nil, true, false},
		"whole segments":                     {"on", "on", map[string]any{"whole_segments": true}, false, true},
		"segments by the host, whole or not": {"off", "off", map[string]any{"whole_segments": true}, false, false},
		"segments cut for an impairment":     {"on", "on", map[string]any{"whole_segments": true, "loss": 0.01}, false, false},
		"segments cut for a rate": {"on", "on", map[string]any{
			"whole_segments": true, "rate_bps": 100e6, "queue": map[string]any{"mode": "droptail", "packets": 200},
		}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			link := map[string]any{"delay_ms": 2}
			maps.Copy(link, c.link)
			r := start(t, testnet.Link{Name: "k", Plan: link})
			for _, host := range []string{"h1", "h2"} {
				r.In(t, r.Hosts[host], "ethtool", "-K", host+"-eth1", "tx", c.checksums, "tso", c.segments, "gso", c.segments)
			}
			for _, end := range []string{"l1a", "l1b"} {
				r.In(t, r.Fabric, "ethtool", "-K", end, "tx", c.checksums, "tso", c.segments, "gso", c.segments)
			}
			var listener net.Listener
			inNamespace(t, r.Hosts["h2"], func() (err error) {
				listener, err = net.Listen("tcp4", testnet.Address(1, 2)+":9001")
				return err
			})
			defer listener.Close()
			file := bytes.Repeat(packet(1, 1000), 4000)
			received := make(chan []byte, 1)
			go func() {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				all, _ := io.ReadAll(conn)
				received <- all
			}()
			inNamespace(t, r.Hosts["h1"], func() error {
				conn, err := (&net.Dialer{Timeout: 3 * time.Second}).Dial("tcp4", testnet.Address(1, 2)+":9001")
				if err != nil {
					return err
				}
				defer conn.Close()
				_, err = conn.Write(file)
				return err
			})
			select {
			case got := <-received:
				if !bytes.Equal(got, file) {
					t.Errorf("%d bytes arrived, not the %d that were sent", len(got), len(file))
				}
			case <-time.After(20 * time.Second):
				t.Fatal("the file did not arrive")
			}
			r.stop()
			result := r.result(t, "k", "ab")
			if (result.Checksums > 0) != c.completed {
				t.Errorf("the relay completed %d checksums", result.Checksums)
			}
			if mean := result.Bytes / result.Frames; (mean > 1514) != c.whole {
				t.Errorf("frames of %d bytes in the mean", mean)
			}
		})
	}
}

func TestSegmentsLargerThanTheMTUAreCounted(t *testing.T) {
	r := start(t, testnet.Link{Name: "k", Plan: map[string]any{"delay_ms": 1}})
	r.In(t, r.Hosts["h1"], "ethtool", "-K", "h1-eth1", "tx", "on", "tso", "on", "gso", "on")
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	iperf := func(host string, arguments ...string) *exec.Cmd {
		command := testnet.Enter(r.Hosts[host], append([]string{"iperf3"}, arguments...)...)
		return exec.CommandContext(ctx, command[0], command[1:]...)
	}
	server := iperf("h2", "-s", "-1")
	if err := server.Start(); err != nil {
		t.Skipf("needs iperf3: %v", err)
	}
	time.Sleep(300 * time.Millisecond)
	_ = iperf("h1", "-c", testnet.Address(1, 2), "-n", "200K").Run() // may not get through
	cancel()
	_ = server.Wait()
	r.stop()
	for _, result := range r.meter.Results() {
		if result.Direction == "ab" && result.Faults.Oversize == 0 {
			t.Errorf("no frame was oversize: %+v", result)
		}
	}
}

// The kernel takes a tag off what it receives; the relay has to put it back.
func TestVLANTagsSurvive(t *testing.T) {
	for _, whole := range []bool{false, true} {
		t.Run(fmt.Sprintf("whole segments %v", whole), func(t *testing.T) { tagSurvives(t, whole) })
	}
}

func tagSurvives(t *testing.T, whole bool) {
	r := start(t, testnet.Link{Name: "k", Plan: map[string]any{"delay_ms": 1, "whole_segments": whole}})
	const tag = 0x2007 // priority 1, VLAN 7
	raw := map[string]int{}
	for host, name := range r.Hosts {
		inNamespace(t, name, func() error {
			device, err := net.InterfaceByName(host + "-eth1")
			if err != nil {
				return err
			}
			fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return err
			}
			raw[host] = fd
			if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_AUXDATA, 1); err != nil {
				return err
			}
			if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 3}); err != nil {
				return err
			}
			all := uint16(unix.ETH_P_ALL)
			return unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all>>8 | all<<8, Ifindex: device.Index})
		})
		defer unix.Close(raw[host])
	}
	frame := append([]byte{2, 0, 0, 0, 1, 2, 2, 0, 0, 0, 1, 1, 0x81, 0x00, tag >> 8, tag & 0xff, 0x88, 0xb5}, packet(3, 200)...)
	if _, err := unix.Write(raw["h1"], frame); err != nil {
		t.Fatal(err)
	}
	got, control := make([]byte, 2000), make([]byte, 200)
	for {
		n, c, _, _, err := unix.Recvmsg(raw["h2"], got, control, 0)
		if err != nil {
			t.Fatalf("the tagged frame did not arrive: %v", err)
		}
		if n < 14 || got[12] != 0x88 || got[13] != 0xb5 {
			continue // something else
		}
		if !bytes.Equal(got[14:n], frame[18:]) {
			t.Error("the frame's payload has changed")
		}
		if !bytes.Contains(control[:c], []byte{tag & 0xff, tag >> 8}) {
			t.Errorf("the tag is gone: auxiliary data %x", control[:c])
		}
		return
	}
}
