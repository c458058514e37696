package controlsocket

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// serve returns the path of a socket whose one page is "here", and what asks for it.
func serve(t *testing.T) (socket string, ask func() error) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "control")
	mux := http.NewServeMux()
	mux.HandleFunc("/state", func(w http.ResponseWriter, _ *http.Request) { Answer(w, "here") })
	server, err := Serve(socket, mux)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
	}}
	return socket, func() error {
		answer, err := client.Get("http://agent/state")
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if text, err := io.ReadAll(answer.Body); err != nil || string(text) != "\"here\"\n" {
			return fmt.Errorf("%q, %v", text, err)
		}
		return nil
	}
}

func dial(t *testing.T, socket string) net.Conn {
	t.Helper()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// Requests without end, in the head or in the body, are cut off; nobody else waits for that.
func TestRequestsWithoutEnd(t *testing.T) {
	socket, ask := serve(t)
	filler := []byte(strings.Repeat("x", 64<<10))
	for name, head := range map[string]string{
		"request line": "GET /",
		"header":       "GET /state HTTP/1.1\r\nHost: agent\r\nLong: ",
		"body":         "POST /state HTTP/1.1\r\nHost: agent\r\nContent-Length: 99999999999\r\n\r\n",
		"chunks":       "POST /state HTTP/1.1\r\nHost: agent\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n",
	} {
		conn := dial(t, socket)
		fmt.Fprint(conn, head)
		written := 0
		for written < 64<<20 {
			n, err := conn.Write(filler)
			written += n
			if err != nil {
				break
			}
		}
		if written > 8<<20 {
			t.Errorf("%s: %d bytes were taken", name, written)
		}
		if err := ask(); err != nil {
			t.Errorf("beside an endless %s: %v", name, err)
		}
	}
}

// A server whose requests have a body takes it whole, and none that is larger.
func TestBodiesHaveABound(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "control")
	server, err := ServeBodies(socket, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			Refuse(w, err)
			return
		}
		Answer(w, len(text))
	}), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	if found, err := os.Stat(socket); err != nil || found.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v: others may reach it", found.Mode(), err)
	}
	for size, want := range map[int]int{1 << 20: http.StatusOK, 1<<20 + 1: http.StatusInternalServerError} {
		conn := dial(t, socket)
		go fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: relay\r\nContent-Length: %d\r\n\r\n%s", size, strings.Repeat("x", size))
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || answer.StatusCode != want {
			t.Errorf("a body of %d bytes: %v, %v, want %d", size, answer, err, want)
		}
	}
}

// What is no request is answered with 400, or not at all, and is the end of the connection.
func TestNoRequests(t *testing.T) {
	socket, ask := serve(t)
	for _, text := range []string{"\x00\x01\x02\r\n\r\n", "GET\r\n\r\n", "GET /state HTTP/9.9\r\n\r\n", "POST /state HTTP/1.1\r\nContent-Length: -1\r\n\r\n"} {
		conn := dial(t, socket)
		fmt.Fprint(conn, text)
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err == nil && answer.StatusCode/100 == 2 {
			t.Errorf("%q: %s", text, answer.Status)
		}
		if err := ask(); err != nil {
			t.Errorf("after %q: %v", text, err)
		}
	}
}

// Clients that connect and say nothing, or a part of a request, are let go; meanwhile others are answered.
func TestSilentClients(t *testing.T) {
	socket, ask := serve(t)
	before := runtime.NumGoroutine()
	var silent []net.Conn
	for i := range 200 {
		conn := dial(t, socket)
		if i%2 == 0 {
			fmt.Fprint(conn, "GET /state HT")
		}
		silent = append(silent, conn)
	}
	if err := ask(); err != nil {
		t.Fatal(err)
	}
	for _, conn := range silent {
		conn.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := io.Copy(io.Discard, conn); err != nil {
			t.Fatalf("a silent client was not let go: %v", err)
		}
	}
	for range 1000 {
		if runtime.NumGoroutine() <= before+4 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}
