// Package testnet makes real networks for tests: hosts and a fabric as network namespaces, joined by veth pairs
// as in a run (docs/contracts.md). It needs root; a test without it is skipped.
package testnet

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// Link is one link to make between the two hosts. Plan holds further keys of the link in the plan.
type Link struct {
	Name    string
	RateBPS int // 0: not shaped
	Plan    map[string]any
}

// Net is a network of two hosts, h1 and h2.
type Net struct {
	Fabric string            // name of the middle's namespace
	Hosts  map[string]string // name of each host's namespace
	Plan   string            // path of a plan with the links
	Dir    string
}

// Frame and bucket of shaped links.
const (
	FrameBytes = 1073
	BurstBytes = 3 * FrameBytes
)

var networks atomic.Int32

// New makes a network that goes when the test ends.
func New(t testing.TB, links ...Link) *Net {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to make network namespaces")
	}
	for _, tool := range []string{"ip", "tc", "ethtool"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("needs %s", tool)
		}
	}
	id := fmt.Sprintf("ncplt%d-%d", os.Getpid(), networks.Add(1))
	n := &Net{
		Fabric: id + "f", Hosts: map[string]string{"h1": id + "h1", "h2": id + "h2"}, Dir: t.TempDir(),
	}
	for _, name := range []string{n.Fabric, n.Hosts["h1"], n.Hosts["h2"]} {
		Run(t, "ip", "netns", "add", name)
		t.Cleanup(func() { _ = exec.Command("ip", "netns", "delete", name).Run() })
		n.In(t, name, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1")
		n.In(t, name, "ip", "link", "set", "lo", "up")
	}
	var planned []map[string]any
	for i, link := range links {
		planned = append(planned, n.wire(t, i+1, link))
	}
	n.writePlan(t, planned)
	return n
}

// Path is where a namespace can be entered.
func Path(namespace string) string { return "/run/netns/" + namespace }

// Address is that of a host on the link of an index, counted from 1.
func Address(index, host int) string {
	return fmt.Sprintf("198.18.%d.%d", (index*4)>>8, (index*4)&0xff+host)
}

func (n *Net) wire(t testing.TB, index int, link Link) map[string]any {
	t.Helper()
	plan := map[string]any{
		"name": link.Name, "index": index, "seed": 17, "delay_ms": 0.0, "loss": 0.0, "rate_bps": link.RateBPS,
		"frame_bytes": FrameBytes, "burst_bytes": BurstBytes, "queue": map[string]any{"mode": "backpressure"},
	}
	mac := func(host int) string { return fmt.Sprintf("02:00:00:%02x:%02x:%02x", index>>8, index&0xff, host) }
	for host, end := range []string{"a", "b"} {
		name := fmt.Sprintf("h%d", host+1)
		namespace := n.Hosts[name]
		outer, inner := fmt.Sprintf("%s-eth%d", name, index), fmt.Sprintf("l%d%s", index, end)
		Run(t, "ip", "link", "add", outer, "netns", namespace, "address", mac(host+1),
			"type", "veth", "peer", "name", inner, "netns", n.Fabric)
		for space, device := range map[string]string{namespace: outer, n.Fabric: inner} {
			n.In(t, space, "ethtool", "-K", device, "tx", "off", "gso", "off", "tso", "off", "gro", "off")
			n.In(t, space, "ip", "link", "set", device, "up")
		}
		n.In(t, namespace, "ip", "addr", "add", Address(index, host+1)+"/30", "dev", outer)
		n.In(t, namespace, "ip", "neigh", "replace", Address(index, 2-host), "lladdr", mac(2-host),
			"dev", outer, "nud", "permanent")
		if link.RateBPS > 0 {
			n.In(t, namespace, "tc", "qdisc", "add", "dev", outer, "root", "handle", "1:", "htb", "default", "1")
			n.In(t, namespace, "tc", "class", "add", "dev", outer, "parent", "1:", "classid", "1:1", "htb",
				"rate", fmt.Sprintf("%dbit", link.RateBPS), "burst", fmt.Sprint(BurstBytes-FrameBytes),
				"cburst", fmt.Sprint(BurstBytes-FrameBytes), "quantum", "1514")
			n.In(t, namespace, "tc", "qdisc", "add", "dev", outer, "parent", "1:1", "bfifo", "limit", "1000000")
		}
		plan[end] = map[string]any{
			"host": name, "interface": outer, "address": Address(index, host+1), "prefix": 30, "middle_interface": inner,
		}
	}
	for key, value := range link.Plan {
		plan[key] = value
	}
	return plan
}

func (n *Net) writePlan(t testing.TB, links []map[string]any) {
	t.Helper()
	text, err := json.Marshal(map[string]any{
		"schema": 2, "run": "test", "scenario": "test", "links": links,
		"telemetry": map[string]any{"interval_ms": 100},
	})
	if err != nil {
		t.Fatal(err)
	}
	n.Plan = filepath.Join(n.Dir, "plan.json")
	if err := os.WriteFile(n.Plan, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// In runs a command in a namespace and returns what it printed; a failure ends the test.
func (n *Net) In(t testing.TB, namespace string, command ...string) string {
	t.Helper()
	return Run(t, Enter(namespace, command...)...)
}

// Enter is a command as it runs in a namespace.
func Enter(namespace string, command ...string) []string {
	return append([]string{"nsenter", "--net=" + Path(namespace), "--"}, command...)
}

// Run runs a command and returns what it printed; a failure ends the test.
func Run(t testing.TB, command ...string) string {
	t.Helper()
	out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", strings.Join(command, " "), err, out)
	}
	return string(out)
}
