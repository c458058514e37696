package agenttest

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"testing"
)

// WritePlan writes a plan to a file of its own.
func WritePlan(t *testing.T, plan map[string]any) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "plan.json")
	text, err := json.Marshal(plan)
	if err == nil {
		err = os.WriteFile(file, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// ReadResult reads what a program left.
func ReadResult[Result any](t *testing.T, file string) (r Result) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// FreePort returns an address of the host with a port that nobody has.
func FreePort(t *testing.T, transport, host string) string {
	t.Helper()
	if transport == "tcp" {
		l, err := net.Listen("tcp", host+":0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		return l.Addr().String()
	}
	c, err := net.ListenPacket("udp", host+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return c.LocalAddr().String()
}
