package faces

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"
)

// A socket that can't be read from any more is the engine's failure, and not read for ever.
func TestAListenerThatFailsEnds(t *testing.T) {
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	e := New(t.Context(), nil)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		e.acceptUDP(conn, FaceConfig{}, conn.LocalAddr().(*net.UDPAddr).AddrPort())
	}()
	select {
	case <-ended:
		if err := <-e.failure; !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("it failed with %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("it goes on reading")
	}
}
