package testnet

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// Relay starts ncp-link relay in the fabric, as a program of its own, until
// the test ends.
func (n *Net) Relay(t testing.TB) {
	t.Helper()
	binary := filepath.Join(n.Dir, "ncp-link")
	Run(t, "go", "build", "-o", binary, "ncp-testbed/cmd/ncp-link")
	command := Enter(n.Fabric, binary, "relay", "--plan", n.Plan, "--dir", n.Dir)
	process := exec.Command(command[0], command[1:]...)
	out, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = process.Process.Kill()
		_ = process.Wait()
	})
	line := make([]byte, 6)
	if _, err := out.Read(line); err != nil || string(line) != "ready\n" {
		t.Fatalf("the relay says %q (%v)", line, err)
	}
}

// Namespaces are the paths of the hosts' namespaces, by host.
func (n *Net) Namespaces() map[string]string {
	paths := map[string]string{}
	for host, name := range n.Hosts {
		paths[host] = Path(name)
	}
	return paths
}
