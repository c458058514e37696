package watch

import (
	"net/netip"
	"strings"
	"testing"
)

const good = `{"run": "r", "scenario": "s", "interval_ms": 100, "tcp_interval_ms": 50,
 "namespaces": {"h1": "/run/netns/x"},
 "interfaces": [{"host": "h1", "interface": "h1-eth1", "link": "fast", "direction": "ab"}],
 "netem": [{"host": "h1", "link": "fast", "direction": "ba", "delay": "l1a", "queue": ""}],
 "sockets": [{"host": "h1", "protocol": "udp", "flow": "s1-1", "role": "sender", "session": "s1", "connection": "1",
   "local": "198.18.1.1:30001", "remote": "198.18.1.2:0"}]}`

func TestParse(t *testing.T) {
	l, err := Parse([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	if l.Sockets[0].Local.Port() != 30001 || l.Interfaces[0].Link != "fast" || l.TCPInterval().Milliseconds() != 50 {
		t.Errorf("read as %+v", l)
	}
}

func TestBadInputIsNamed(t *testing.T) {
	for _, c := range []struct{ old, new, says string }{
		{`"run": "r"`, `"run": ""`, "run: empty"},
		{`"interval_ms": 100`, `"interval_ms": 0`, "interval_ms: 0, want 1"},
		{`"tcp_interval_ms": 50`, `"tcp_interval_ms": -1`, "tcp_interval_ms: -1"},
		{`{"host": "h1", "interface"`, `{"host": "h2", "interface"`, `interfaces[0].host: "h2" is not in namespaces`},
		{`"direction": "ba"`, `"direction": "up"`, `netem[0].direction: "up", want ab or ba`},
		{`"protocol": "udp"`, `"protocol": "sctp"`, `sockets[0].protocol: "sctp"`},
		{`"role": "sender"`, `"role": ""`, `sockets[0].role: "", want sender`},
		{`"flow": "s1-1"`, `"flow": ""`, "sockets[0].flow: empty"},
		{`198.18.1.1:30001`, `198.18.1.1`, "not the JSON"},
		{`"run"`, `"rum"`, "rum"},
	} {
		_, err := Parse([]byte(strings.Replace(good, c.old, c.new, 1)))
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %s", c.new, err, c.says)
		}
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		wanted, own string
		matches     bool
	}{
		{"198.18.1.1:30001", "198.18.1.1:30001", true},
		{"198.18.1.1:30001", "198.18.1.2:30001", false},
		{"198.18.1.1:30001", "198.18.1.1:30002", false},
		{"198.18.1.1:0", "198.18.1.1:30002", true},
		{"0.0.0.0:80", "198.18.1.1:80", true},
		{"0.0.0.0:80", "198.18.1.1:81", false},
		{"198.18.1.2:30001", "0.0.0.0:0", true}, // not connected
	} {
		wanted := Endpoint{netip.MustParseAddrPort(c.wanted)}
		if got := wanted.Matches(netip.MustParseAddrPort(c.own)); got != c.matches {
			t.Errorf("%s matches %s: %v", c.wanted, c.own, got)
		}
	}
	if !(Endpoint{}).Matches(netip.MustParseAddrPort("198.18.1.1:1")) {
		t.Error("what is left open matches all")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(good)
	f.Fuzz(func(t *testing.T, text string) {
		l, err := Parse([]byte(text))
		if err != nil {
			return
		}
		if l.Interval() <= 0 || l.TCPInterval() <= 0 {
			t.Errorf("intervals %v, %v", l.Interval(), l.TCPInterval())
		}
		for _, s := range l.Sockets {
			if _, ok := l.Namespaces[s.Host]; !ok {
				t.Errorf("host %q is nowhere", s.Host)
			}
		}
	})
}
