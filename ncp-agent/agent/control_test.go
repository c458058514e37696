package agent

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ncp-testbed/internal/controlsocket"
	"ncp-testbed/ncp-agent/endpoint"
)

// Reading is not paused for a runner that has gone before its time.
func TestAPausesClientHasGone(t *testing.T) {
	c := &control{driver: &endpoint.Driver{}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	path := fmt.Sprintf("/pause-read?connection=1&ms=10&at_unix_ns=%d", time.Now().Add(time.Second).UnixNano())
	_, err := c.pauseRead(httptest.NewRequestWithContext(ctx, "POST", path, nil))
	if err == nil || !strings.Contains(err.Error(), "the client has gone") {
		t.Error(err)
	}
}

// A client that does not read the answer to its request holds up neither the agent nor other requests.
func TestASlowClientHoldsUpNobody(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "control.sock")
	c, err := serveControl(socket, Sender, "s1", nil)
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
		c.set(controlsocket.Ready, "", nil)
		close(set)
	}()
	select {
	case <-set:
	case <-time.After(10 * time.Second):
		t.Error("the agent waits for its client")
	}
}
