package remote_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ncp-testbed/internal/clocksync"
	"ncp-testbed/internal/controlsocket"
	"ncp-testbed/internal/netconf"
	"ncp-testbed/internal/plan"
	"ncp-testbed/internal/probe"
	"ncp-testbed/internal/remote"
	"ncp-testbed/internal/test/testnet"
)

const rateBPS = 8790016

// far puts host h2 of a network, whose links are not made yet, on a machine of its own: it serves there, and is asked
// at the socket that is returned.
type far struct {
	t      *testing.T
	socket string
	client http.Client
}

func serving(t *testing.T, folder string) *far {
	t.Helper()
	f := &far{t: t, socket: filepath.Join(folder, "far.sock")}
	server, err := controlsocket.ServeBodies(f.socket, remote.New(folder, nil).Handler(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	f.client.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", f.socket)
	}}
	return f
}

func (f *far) ask(method, path string, body any) (int, string) {
	f.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		f.t.Fatal(err)
	}
	asked, err := http.NewRequest(method, "http://far"+path, bytes.NewReader(text))
	if err != nil {
		f.t.Fatal(err)
	}
	answer, err := f.client.Do(asked)
	if err != nil {
		f.t.Fatal(err)
	}
	defer answer.Body.Close()
	whole, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(whole)
}

// A host that is reached by VXLAN, over a cable between this machine and the namespace with the middle, is shaped and measured as one that is here.
func TestAHostElsewhereIsMeasuredAsOneHere(t *testing.T) {
	n := testnet.New(t, testnet.Link{Name: "k", RateBPS: rateBPS, Plan: map[string]any{"delay_ms": 5}})
	h2 := n.Hosts["h2"]
	n.In(t, h2, "ip", "link", "delete", "h2-eth1") // and its other end, l1b
	cable := fmt.Sprintf("ncplt%du", os.Getpid())
	testnet.Run(t, "ip", "link", "add", cable, "type", "veth", "peer", "name", "under", "netns", n.Fabric)
	t.Cleanup(func() { _ = exec.Command("ip", "link", "delete", cable).Run() })
	testnet.Run(t, "ip", "addr", "add", "198.51.100.2/30", "dev", cable)
	testnet.Run(t, "ip", "link", "set", cable, "up")
	n.In(t, n.Fabric, "ip", "addr", "add", "198.51.100.1/30", "dev", "under")
	n.In(t, n.Fabric, "ip", "link", "set", "under", "up")
	n.In(t, n.Fabric, "ip", "link", "add", "l1b", "mtu", "1450", "type", "vxlan", "id", "77", "local", "198.51.100.1",
		"remote", "198.51.100.2", "dstport", "14799", "df", "set", "udpcsum", "nolearning")
	n.In(t, n.Fabric, "ip", "link", "set", "l1b", "up")
	n.In(t, n.Fabric, "ethtool", "-K", "l1b", "tx", "off", "gso", "off", "gro", "off")
	pid := inside(t, h2)
	f := serving(t, n.Dir)
	h := netconf.Host{
		PID: pid, Sysctls: map[string]string{"net.ipv4.tcp_rmem": "4096 50000 60000"},
		CongestionControl: "reno",
		Ends: []netconf.End{{
			PID: pid, Interface: "h2-eth1", MAC: "02:00:00:00:01:02", MTU: 1450,
			Address: netip.MustParseAddr(testnet.Address(1, 2)), Prefix: 30,
			PeerMAC: "02:00:00:00:01:01", Peer: netip.MustParseAddr(testnet.Address(1, 1)),
			Tunnel: &netconf.Tunnel{
				VNI: 77, Local: netip.MustParseAddr("198.51.100.2"), Remote: netip.MustParseAddr("198.51.100.1"), Port: 14799,
			},
			Shaping: &netconf.Shaping{RateBPS: rateBPS, BurstBytes: 2 * testnet.FrameBytes, Quantum: 1514, LimitBytes: 1 << 20},
		}},
	}
	if status, said := f.ask("POST", "/hosts", map[string]netconf.Host{"h2": h}); status != http.StatusOK {
		t.Fatal(said)
	}
	n.Relay(t)
	p, err := plan.Read(n.Plan)
	if err != nil {
		t.Fatal(err)
	}
	const aheadNS = 3_600_000_000_000 // which it is not, and shows in what is measured
	found, err := probe.Run(context.Background(), p, probe.Options{
		Namespaces: map[string]string{"h1": testnet.Path(n.Hosts["h1"])}, Seconds: 0.5,
		Far: map[string]probe.Machine{"h2": {Socket: f.socket}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range found {
		if m.Loss != 0 || m.DelayMS == nil || *m.DelayMS < 5 || m.RateBPS == nil || *m.RateBPS < 0.98*rateBPS || *m.RateBPS > 1.02*rateBPS {
			t.Errorf("%+v: want 5 ms and %d bit/s", m, rateBPS)
		}
	}
	shifted, err := probe.Run(context.Background(), p, probe.Options{
		Namespaces: map[string]string{"h1": testnet.Path(n.Hosts["h1"])}, Seconds: 0.1,
		Far: map[string]probe.Machine{"h2": {Socket: f.socket, Offset: aheadNS}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if ab, ba := *shifted[0].DelayMS, *shifted[1].DelayMS; ab > -3_599_000 || ba < 3_599_000 {
		t.Errorf("delays %v and %v ms: want its clock's hour taken off what it stamped", ab, ba)
	}
	f.checkQueues()
	f.checkChanges(n, h2, h.Ends[0])
	f.checkProgram()
	route := n.In(t, h2, "ip", "route", "show", testnet.Address(1, 1))
	if !strings.Contains(route, "congctl reno") {
		t.Errorf("route %q: want the congestion control that was asked", route)
	}
	if rmem := n.In(t, h2, "sysctl", "-n", "net.ipv4.tcp_rmem"); !strings.Contains(rmem, "60000") {
		t.Errorf("tcp_rmem %q: want what was asked", rmem)
	}
	if here, err := os.ReadFile("/proc/sys/net/ipv4/tcp_rmem"); err != nil || strings.Contains(string(here), "60000") {
		t.Errorf("this machine's tcp_rmem is %q, %v: want it left as it was", here, err)
	}
}

// inside is a process in a namespace, until the test ends.
func inside(t *testing.T, namespace string) int {
	t.Helper()
	sleeper := exec.Command("ip", "netns", "exec", namespace, "sleep", "60")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sleeper.Process.Kill(); _ = sleeper.Wait() })
	want, err := os.Stat(testnet.Path(namespace))
	if err != nil {
		t.Fatal(err)
	}
	for entered := false; !entered; time.Sleep(time.Millisecond) { // ip has to enter the namespace first
		there, err := os.Stat(netconf.Namespace(sleeper.Process.Pid))
		entered = err == nil && os.SameFile(there, want)
	}
	return sleeper.Process.Pid
}

// The middle is here, between host h2 of this machine and host h1 of another one, from which it is reached by VXLAN.
func TestAMiddleOnThisMachine(t *testing.T) {
	n := testnet.New(t, testnet.Link{Name: "k", RateBPS: rateBPS, Plan: map[string]any{"delay_ms": 5}})
	h1, h2 := n.Hosts["h1"], n.Hosts["h2"]
	n.In(t, h1, "ip", "link", "delete", "h1-eth1")
	n.In(t, h2, "ip", "link", "delete", "h2-eth1")
	cable := fmt.Sprintf("ncplt%dm", os.Getpid())
	testnet.Run(t, "ip", "link", "add", cable, "type", "veth", "peer", "name", "under", "netns", h1)
	t.Cleanup(func() { _ = exec.Command("ip", "link", "delete", cable).Run() })
	testnet.Run(t, "ip", "addr", "add", "198.51.100.5/30", "dev", cable)
	testnet.Run(t, "ip", "link", "set", cable, "up")
	n.In(t, h1, "ip", "addr", "add", "198.51.100.6/30", "dev", "under")
	n.In(t, h1, "ip", "link", "set", "under", "up")
	n.In(t, h1, "ip", "link", "add", "h1-eth1", "address", "02:00:00:00:01:01", "mtu", "1450", "type", "vxlan", "id", "78",
		"local", "198.51.100.6", "remote", "198.51.100.5", "dstport", "14797", "df", "set", "udpcsum", "nolearning")
	n.In(t, h1, "ethtool", "-K", "h1-eth1", "tx", "off", "gso", "off", "gro", "off")
	n.In(t, h1, "ip", "link", "set", "h1-eth1", "up")
	n.In(t, h1, "ip", "addr", "add", testnet.Address(1, 1)+"/30", "dev", "h1-eth1")
	f := serving(t, n.Dir)
	middle := inside(t, n.Fabric)
	asked := netconf.Middles{PID: middle, Ends: []netconf.MiddleEnd{{Interface: "l1a", MTU: 1450, Tunnel: netconf.Tunnel{
		VNI: 78, Local: netip.MustParseAddr("198.51.100.5"), Remote: netip.MustParseAddr("198.51.100.6"), Port: 14797,
	}}}}
	host := netconf.Host{PID: inside(t, h2), Ends: []netconf.End{{
		Interface: "h2-eth1", MAC: "02:00:00:00:01:02", MTU: 1500, Address: netip.MustParseAddr(testnet.Address(1, 2)), Prefix: 30,
		PeerMAC: "02:00:00:00:01:01", Peer: netip.MustParseAddr(testnet.Address(1, 1)),
		Shaping: &netconf.Shaping{RateBPS: rateBPS, BurstBytes: 2 * testnet.FrameBytes, Quantum: 1514, LimitBytes: 1 << 20},
		Middle:  &netconf.Near{PID: middle, Interface: "l1b"},
	}}}
	host.Ends[0].PID = host.PID
	for range 2 { // what is there already stays
		if status, said := f.ask("POST", "/middles", asked); status != http.StatusOK {
			t.Fatal(said)
		}
	}
	if status, said := f.ask("POST", "/hosts", map[string]netconf.Host{"h2": host}); status != http.StatusOK {
		t.Fatal(said)
	}
	for _, up := range []bool{false, true} { // its carrier: the other end goes with it
		out := netconf.Change{Interface: "l1b", Up: &up}
		if status, said := f.ask("POST", "/change", out); status != http.StatusOK {
			t.Fatal(said)
		}
		if shown := n.In(t, h2, "ip", "link", "show", "h2-eth1"); strings.Contains(shown, "NO-CARRIER") == up {
			t.Errorf("up %v: %s", up, shown)
		}
	}
	n.Relay(t)
	p, err := plan.Read(n.Plan)
	if err != nil {
		t.Fatal(err)
	}
	found, err := probe.Run(context.Background(), p, probe.Options{
		Namespaces: map[string]string{"h1": testnet.Path(h1)}, Seconds: 0.3,
		Far: map[string]probe.Machine{"h2": {Socket: f.socket}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range found {
		if m.Loss != 0 || m.DelayMS == nil || *m.DelayMS < 5 {
			t.Errorf("%+v: want all that was sent, after 5 ms", m)
		}
	}
	if back := found[1]; back.RateBPS == nil || *back.RateBPS < 0.98*rateBPS || *back.RateBPS > 1.02*rateBPS {
		t.Errorf("%+v: want %d bit/s of the host that is shaped", back, rateBPS)
	}
}

// One machine asks another about the way to a third: here all are this one.
func TestTheWayToAnotherMachineIsMeasuredFromThisOne(t *testing.T) {
	folder := t.TempDir()
	f := serving(t, folder)
	const key = 7
	listener, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.LocalAddr().String()
	listener.Close()
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- clocksync.Serve(ctx, address, key) }()
	t.Cleanup(func() { stop(); <-served })
	asked := map[string]any{"to": address, "key": key, "packets": 3, "interval_ms": 5}
	var samples []clocksync.Sample
	for try := 0; try < 100 && (len(samples) != 3 || samples[2].Lost); try++ { // until it listens
		_, said := f.ask("POST", "/measure", asked)
		if err := json.Unmarshal([]byte(said), &samples); err != nil {
			t.Fatal(said)
		}
	}
	if len(samples) != 3 || samples[2].Lost || samples[2].RTT <= 0 {
		t.Errorf("%+v: want three samples", samples)
	}
	asked["mtu"] = 1 << 16
	if status, said := f.ask("POST", "/measure", asked); status != http.StatusOK || strings.TrimSpace(said) != "[]" {
		t.Errorf("packets that don't fit: %d %q, want none", status, said)
	}
	for _, wrong := range []map[string]any{{"packets": 0}, {"packets": 1e6}, {"interval_ms": 0}, {"to": "nowhere"}} {
		body := map[string]any{"to": address, "key": key, "packets": 3, "interval_ms": 5}
		for name, value := range wrong {
			body[name] = value
		}
		if status, _ := f.ask("POST", "/measure", body); status < http.StatusBadRequest {
			t.Errorf("%v: %d, want a refusal", wrong, status)
		}
	}
	watch := map[string]any{"to": address, "key": key, "interval_ms": 5, "file": "way.jsonl"}
	if status, said := f.ask("POST", "/watch", watch); status != http.StatusOK {
		t.Fatal(said)
	}
	lines := ""
	for try := 0; try < 500 && strings.Count(lines, "\n") < 3; try++ {
		time.Sleep(5 * time.Millisecond)
		_, lines = f.ask("GET", "/read?file=way.jsonl&from=0", nil)
	}
	if status, said := f.ask("POST", "/watch/end", nil); status != http.StatusOK || strings.Count(lines, "\n") < 3 {
		t.Errorf("%d %q, %q: want a line for each sample", status, said, lines)
	}
	watch["file"] = "../way.jsonl"
	if status, _ := f.ask("POST", "/watch", watch); status < http.StatusBadRequest {
		t.Errorf("a file outside of the run's folder: %d, want a refusal", status)
	}
}

// Rate and carrier of a live end change at a time of its own clock, and not before.
func (f *far) checkChanges(n *testnet.Net, host string, end netconf.End) {
	f.t.Helper()
	slower, out, in := *end.Shaping, false, true
	slower.RateBPS /= 2
	for _, c := range []struct {
		change netconf.Change
		shows  string
		ask    []string
	}{
		{netconf.Change{Shaping: &slower}, "rate 4395Kbit", []string{"tc", "class", "show", "dev", end.Interface}},
		{netconf.Change{Up: &out}, "NO-CARRIER", []string{"ip", "link", "show", end.Interface}},
		{netconf.Change{Up: &in}, "LOWER_UP", []string{"ip", "link", "show", end.Interface}},
	} {
		c.change.Interface = end.Interface
		at := time.Now().Add(50 * time.Millisecond).UnixNano()
		status, said := f.ask("POST", fmt.Sprintf("/change?host=h2&at_unix_ns=%d", at), c.change)
		var done map[string]int64
		if err := json.Unmarshal([]byte(said), &done); status != http.StatusOK || err != nil || done["applied_unix_ns"] < at {
			f.t.Errorf("%+v at %d: %d %s", c.change, at, status, said)
		}
		if found := n.In(f.t, host, c.ask...); !strings.Contains(found, c.shows) {
			f.t.Errorf("%q: want %s", found, c.shows)
		}
	}
	late := fmt.Sprintf("/change?host=h2&at_unix_ns=%d", time.Now().Add(time.Hour).UnixNano())
	for path, interfaceName := range map[string]string{
		late: end.Interface, "/change?host=h9": end.Interface, "/change?host=h2": "none", "/change?host=h2&at_unix_ns=x": "",
	} {
		if status, said := f.ask("POST", path, netconf.Change{Interface: interfaceName}); status < http.StatusBadRequest {
			f.t.Errorf("%s: %d %s, want a refusal", path, status, said)
		}
	}
}

// A program runs in the host's network, and each line that it prints has its time.
func (f *far) checkProgram() {
	f.t.Helper()
	begun := time.Now().UnixNano()
	if status, said := f.ask("POST", "/program?name=p&host=h2", []string{"ip", "-o", "link"}); status != http.StatusOK {
		f.t.Fatal(said)
	}
	f.until("p", `"code":0`)
	_, text := f.ask("GET", "/read?file=programs/p.out&from=0", nil)
	var at int64
	for line := range strings.Lines(text) {
		if _, err := fmt.Sscan(line, &at); err != nil || at < begun || at > time.Now().UnixNano() {
			f.t.Errorf("%q: want it to begin with when it came", line)
		}
	}
	if !strings.Contains(text, " h2-eth1@") {
		f.t.Errorf("%q: want the links of h2", text)
	}
	if status, said := f.ask("POST", "/program?name=q&host=h2", []string{"sleep", "600"}); status != http.StatusOK {
		f.t.Fatal(said)
	}
	f.ask("POST", "/program/end?name=q", nil)
	f.until("q", `"code":-1`)
	for path, command := range map[string][]string{
		"/program?name=q&host=h2":  {"true"}, // there is one of that name
		"/program?name=r&host=h9":  {"true"},
		"/program?name=s&host=h2":  {"/none"},
		"/program?name=t&host=h2":  {},
		"/program?name=../u":       {"true"},
		"/program/end?name=nobody": nil,
	} {
		if status, said := f.ask("POST", path, command); status < http.StatusBadRequest {
			f.t.Errorf("%s %v: %d %s, want a refusal", path, command, status, said)
		}
	}
}

func (f *far) until(name, want string) {
	f.t.Helper()
	for range 1000 {
		_, said := f.ask("GET", "/program?name="+name, nil)
		if strings.Contains(said, `"ended":true`) {
			if !strings.Contains(said, want) {
				f.t.Errorf("%s: %s, want %s", name, said, want)
			}
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	f.t.Fatalf("%s has not ended", name)
}

func (f *far) checkQueues() {
	f.t.Helper()
	_, said := f.ask("GET", "/queues", nil)
	var queues []map[string]any
	if err := json.Unmarshal([]byte(said), &queues); err != nil {
		f.t.Fatal(err)
	}
	kinds := map[string]any{}
	for _, q := range queues {
		if q["host"] == "h2" && q["dev"] == "h2-eth1" && q["drops"] == 0.0 {
			kinds[fmt.Sprint(q["kind"])] = q["parent"]
		}
	}
	if len(kinds) != 2 || kinds["htb"] != nil || kinds["bfifo"] != "1:1" {
		f.t.Errorf("queues %s: want htb, and a bfifo below it", said)
	}
}

func TestFilesOfTheRunAreReadAndNoOthers(t *testing.T) {
	folder := t.TempDir()
	f := serving(t, folder)
	if err := os.WriteFile(filepath.Join(folder, "spool.lp"), []byte("a 1 10\nb 2 20\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/read?file=spool.lp&from=7":  "b 2 20\n",
		"/read?file=spool.lp&from=99": "",
		"/read?file=none.lp&from=0":   "",
	} {
		if status, said := f.ask("GET", path, nil); status != http.StatusOK || said != want {
			t.Errorf("%s: %d %q, want %q", path, status, said, want)
		}
	}
	for _, path := range []string{"/read?file=../../etc/passwd&from=0", "/read?file=spool.lp&from=-1"} {
		if status, said := f.ask("GET", path, nil); status < http.StatusBadRequest {
			t.Errorf("%s: %d %q, want a refusal", path, status, said)
		}
	}
	if status, _ := f.ask("POST", "/collect/end", nil); status < http.StatusBadRequest {
		t.Errorf("the end of what was not begun: %d, want a refusal", status)
	}
	if status, said := f.ask("POST", "/probe/send?interface=none", nil); status < http.StatusBadRequest {
		t.Errorf("%d %q: want a refusal", status, said)
	}
}
