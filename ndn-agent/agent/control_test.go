package agent

import (
	"io"
	"net"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"ncp-testbed/internal/controlsocket"
	"ncp-testbed/ndn-agent/config"
)

// A client that does not read the answer to its request holds up neither the agent nor other requests.
func TestASlowClientHoldsUpNobody(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "control.sock")
	c, err := serveControl(socket, &config.Plan{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	c.status.Warnings = slices.Repeat([]string{"more than the socket takes at once"}, 100_000)
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("GET /state HTTP/1.1\r\nHost: agent\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	set := make(chan bool)
	go func() {
		c.set(controlsocket.Ready, "")
		close(set)
	}()
	select {
	case <-set:
	case <-time.After(10 * time.Second):
		t.Error("the agent waits for its client")
	}
}
