package sockets

import (
	"errors"
	"net"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAcceptTakesThePeerAlone(t *testing.T) {
	listener, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for _, from := range []byte{9, 2} { // a stranger, then the peer
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, from)}, Control: Prepare(ReuseAddress)}
		conn, err := dialer.Dial("tcp4", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	for _, peer := range []netip.Addr{netip.MustParseAddr("::ffff:127.0.0.2"), {}} {
		if peer.IsValid() {
			conn, err := Accept(listener, peer)
			if err != nil || conn.RemoteAddr().(*net.TCPAddr).IP.String() != "127.0.0.2" {
				t.Fatalf("accepted %v, %v", conn, err)
			}
			conn.Close()
			continue
		}
		conn, err := net.Dial("tcp4", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		accepted, err := Accept(listener, peer)
		if err != nil {
			t.Fatalf("nobody is accepted where anybody may come: %v", err)
		}
		accepted.Close()
	}
	listener.Close()
	if _, err := Accept(listener, netip.Addr{}); !errors.Is(err, net.ErrClosed) {
		t.Errorf("%v of a listener that is closed", err)
	}
}

func TestControlReturnsBothErrors(t *testing.T) {
	conn, err := net.ListenUDP("udp4", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := Control(conn, ReuseAddress); err != nil {
		t.Error(err)
	}
	if err := Control(conn, func(int) error { return unix.EPERM }); !errors.Is(err, unix.EPERM) {
		t.Errorf("%v instead of the function's error", err)
	}
	conn.Close()
	if err := Control(conn, func(int) error { return nil }); err == nil {
		t.Error("no error of a closed socket")
	}
}
