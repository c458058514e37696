// Package interop tests the agent against npm's @nkn/ncp, an independent
// implementation of the protocol. NCP_INTEROP names a folder in which one is
// installed: npm install --prefix FOLDER @nkn/ncp@1.1.2 (or 1.0.9).
package interop

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ncp-testbed/ncp-agent/agent"
	"ncp-testbed/ncp-agent/plan"
)

const size = 4<<20 + 123

// peer is the npm implementation as a process.
type peer struct {
	command *exec.Cmd
	out     bytes.Buffer
}

// peerFolder skips the test where there is no peer.
func peerFolder(t *testing.T) string {
	t.Helper()
	folder := os.Getenv("NCP_INTEROP")
	if folder == "" {
		t.Skip("NCP_INTEROP names no folder with npm's @nkn/ncp")
	}
	return folder
}

func startPeer(t *testing.T, role, plan string) *peer {
	t.Helper()
	folder := peerFolder(t)
	script, err := os.ReadFile("peer.js")
	if err != nil {
		t.Fatal(err)
	}
	// Node looks for packages beside the script.
	file := filepath.Join(folder, fmt.Sprintf("peer-%d.js", os.Getpid()))
	if err := os.WriteFile(file, script, 0o644); err != nil {
		t.Fatal(err)
	}
	p := &peer{command: exec.Command("node", file, role, plan)}
	p.command.Stdout = &p.out
	stderr, err := p.command.StderrPipe()
	if err == nil {
		err = p.command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.command.Process.Kill()
		os.Remove(file)
	})
	lines := bufio.NewReader(stderr)
	if line, err := lines.ReadString('\n'); line != "listening\n" {
		rest, _ := io.ReadAll(lines)
		t.Fatalf("the peer said %q %v %s", line, err, rest)
	}
	go io.Copy(os.Stderr, lines)
	return p
}

func (p *peer) end(t *testing.T) (result struct {
	Bytes   int64
	SHA256  string
	Windows []float64
}) {
	t.Helper()
	if err := p.command.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(p.out.Bytes(), &result); err != nil {
		t.Fatalf("%v: %s", err, p.out.String())
	}
	return result
}

// startAgent runs one of this project's agents until its end.
func startAgent(t *testing.T, role, file string) (control string, result <-chan agent.Result) {
	t.Helper()
	p, err := plan.Read(file, "s1")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	control = filepath.Join(dir, "control")
	done := make(chan agent.Result, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		var result agent.Result
		err := agent.Run(ctx, agent.Options{Role: role, Plan: p, Dir: dir, Control: control, Log: os.Stderr})
		if err == nil {
			var text []byte
			if text, err = os.ReadFile(filepath.Join(dir, "result.json")); err == nil {
				err = json.Unmarshal(text, &result)
			}
		}
		if err != nil {
			t.Error(err)
		}
		done <- result
	}()
	return control, done
}

// ask repeats a request until the answer holds what is wanted.
func ask(t *testing.T, socket, request, wanted string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		c, err := net.Dial("unix", socket)
		if err != nil {
			continue
		}
		fmt.Fprintf(c, "%s HTTP/1.0\r\n\r\n", request)
		answer, _ := io.ReadAll(c)
		c.Close()
		if strings.Contains(string(answer), wanted) {
			return
		}
	}
	t.Fatalf("%s never answered %s", request, wanted)
}

func writePlan(t *testing.T, transport string) string {
	t.Helper()
	var connections []any
	for i, link := range []string{"one", "two", "three"} {
		var addrs [2]string
		for k, host := range []string{"127.0.0.1", "127.0.0.2"} {
			c, err := net.ListenPacket("udp", host+":0")
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			addrs[k] = c.LocalAddr().String()
		}
		connections = append(connections, map[string]any{"index": i + 1, "link": link, "sender": addrs[0], "receiver": addrs[1]})
	}
	text, err := json.Marshal(map[string]any{
		"schema": 1, "run": "r", "scenario": "interop", "seed": 1,
		"telemetry": map[string]any{"interval_ms": 100, "url": "http://127.0.0.1:1", "database": "d"},
		"sessions": []any{map[string]any{
			"name": "s1", "policy": "nkp24", "transport": transport, "transfer_bytes": size,
			"send_window_bytes": 4 << 20, "mtu_bytes": 1024, "connections": connections,
			"ack_interval_ms": 50, "max_ack_ranges": 32, "timeout_check_ms": 50, "linger_ms": 1000,
		}},
	})
	file := filepath.Join(t.TempDir(), "plan.json")
	if err == nil {
		err = os.WriteFile(file, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// both runs a test over each transport.
func both(t *testing.T, test func(t *testing.T, file string)) {
	peerFolder(t)
	for _, transport := range []string{plan.UDP, plan.TCP} {
		t.Run(transport, func(t *testing.T) { test(t, writePlan(t, transport)) })
	}
}

func TestSendToNPM(t *testing.T) {
	both(t, func(t *testing.T, file string) {
		p := startPeer(t, "receiver", file)
		control, done := startAgent(t, agent.Sender, file)
		ask(t, control, "POST /start", " 200 ")
		sent := <-done
		got := p.end(t)
		if got.Bytes != size || got.SHA256 != sent.SHA256 {
			t.Errorf("npm received %d bytes %s, want %d %s", got.Bytes, got.SHA256, size, sent.SHA256)
		}
	})
}

func TestReceiveFromNPM(t *testing.T) {
	both(t, func(t *testing.T, file string) {
		control, done := startAgent(t, agent.Receiver, file)
		ask(t, control, "GET /state", `"ready"`) // npm sends its handshake once
		p := startPeer(t, "sender", file)
		sent := p.end(t)
		got := <-done
		if got.Bytes != size || got.SHA256 != sent.SHA256 {
			t.Errorf("received %d bytes %s, npm sent %d %s", got.Bytes, got.SHA256, size, sent.SHA256)
		}
		if len(got.Warnings) > 0 {
			t.Errorf("warnings %v", got.Warnings)
		}
	})
}
