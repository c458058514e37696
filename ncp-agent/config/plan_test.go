package config

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ncp-testbed/ncp-agent/metrics"
)

func good() map[string]any {
	return map[string]any{
		"schema": 2, "run": "r", "scenario": "startup", "seed": 7, "unknown": "ignored",
		"telemetry": map[string]any{"interval_ms": 100, "url": "http://198.19.0.1:8086", "database": "d"},
		"sessions": []any{map[string]any{
			"name": "s1", "policy": "nkp24", "transport": "udp", "transfer_bytes": 1000,
			"send_window_bytes": 4194304, "mtu_bytes": 1024, "initial_windows": []any{2048, 2048},
			"ack_interval_ms": 12.5, "max_ack_ranges": 32, "timeout_check_ms": 40, "linger_ms": 1000,
			"connections": []any{
				map[string]any{"index": 1, "link": "fast", "send_buffer_packets": 103, "sender": "198.18.1.1:30001", "receiver": "198.18.1.2:30001"},
				map[string]any{"index": 2, "link": "slow", "send_buffer_packets": 13, "sender": "198.18.2.1:30002", "receiver": "198.18.2.2:30002"},
			},
		}},
	}
}

func write(t *testing.T, document any) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "plan.json")
	text, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestRead(t *testing.T) {
	p, err := Read(write(t, good()), "s1")
	if err != nil {
		t.Fatal(err)
	}
	cfg := p.Session.Config(metrics.Sender)
	if p.Seed != 7 || p.Telemetry.Database != "d" || p.Session.TransferBytes != 1000 {
		t.Errorf("read %+v", p)
	}
	if !slices.Equal(cfg.ClientIDs, []string{"fast", "slow"}) || !slices.Equal(cfg.InitialWindows, []float64{2048, 2048}) ||
		cfg.TimeoutCheckInterval != 40*time.Millisecond || cfg.AckInterval != 12500*time.Microsecond || cfg.Linger != time.Second || cfg.WindowBytes != 4<<20 {
		t.Errorf("configuration %+v", cfg)
	}
}

// An end has what it offers in place of what is agreed, and the other one that.
func TestOffers(t *testing.T) {
	document := good()
	session := document["sessions"].([]any)[0].(map[string]any)
	session["offers"] = map[string]any{"sender": map[string]any{"send_window_bytes": 5 << 20, "mtu_bytes": 1100}}
	p, err := Read(write(t, document), "s1")
	if err != nil {
		t.Fatal(err)
	}
	if cfg := p.Session.Config(metrics.Sender); cfg.WindowBytes != 5<<20 || cfg.MTUBytes != 1100 {
		t.Errorf("the sender offers %d B, MTU %d B", cfg.WindowBytes, cfg.MTUBytes)
	}
	if cfg := p.Session.Config(metrics.Receiver); cfg.WindowBytes != 4<<20 || cfg.MTUBytes != 1024 {
		t.Errorf("the receiver offers %d B, MTU %d B", cfg.WindowBytes, cfg.MTUBytes)
	}
}

// Each fault is told with its field, its value and what would be right.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		field string // a path in the session, or in the plan after a slash
		value any
		want  string
	}{
		{"/schema", 3, "schema: 3, want 1 to 2"},
		{"/run", "", `run: ""`},
		{"policy", "reno", `sessions[0].policy: "reno", want one of previous, nkp24`},
		{"transport", "sctp", `sessions[0].transport: "sctp", want udp or tcp`},
		{"mtu_bytes", 70000, "sessions[0].mtu_bytes: 70000, want 1 to 60000"},
		{"send_window_bytes", 100, "sessions[0].send_window_bytes: 100, want 1024 to"},
		{"start_s", 1e300, "sessions[0].start_s: 1"},
		{"start_s", -1, "sessions[0].start_s: -1, want 0 to 1000000"},
		{"/telemetry", map[string]any{"interval_ms": 1e300}, "telemetry.interval_ms: 1e+300, want 1 to 3600000 milliseconds"},
		{"transfer_bytes", 0, "sessions[0].transfer_bytes: 0, want 1"},
		{"transfer_bytes", "8MiB", "line 1: sessions.transfer_bytes: string, want int64"},
		{"ack_interval_ms", 0, "sessions[0].ack_interval_ms: 0, want 0.1 to 60000"},
		{"initial_windows", []any{1}, "sessions[0].initial_windows: 1 of them, want one for each of the 2"},
		{"initial_windows", []any{0.5, 1}, "sessions[0].initial_windows[0]: 0.5 packets, want at least 1"},
		{"offers", map[string]any{"sender": map[string]any{"mtu_bytes": 1000}}, "sessions[0].offers.sender.mtu_bytes: 1000, want 1024 to 60000"},
		{"offers", map[string]any{"receiver": map[string]any{"mtu_bytes": 1024}}, "sessions[0].offers.receiver.send_window_bytes: 0, want 4194304 to"},
		{"connections", []any{}, "sessions[0].connections: 0 of them, want 1 to 64"},
		{"connections", []any{map[string]any{"index": 1, "sender": "198.18.1.1:0", "receiver": "198.18.1.2:1"}}, "sessions[0].initial_windows: 2"},
		{"name", "s2", `none is named "s1", there are: s2`},
	} {
		d := good()
		if name, top := strings.CutPrefix(c.field, "/"); top {
			d[name] = c.value
		} else {
			s := maps.Clone(d["sessions"].([]any)[0].(map[string]any))
			s[c.field] = c.value
			d["sessions"] = []any{s}
		}
		file := write(t, d)
		if _, err := Read(file, "s1"); err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), file) {
			t.Errorf("%s = %v: error %v, want %q", c.field, c.value, err, c.want)
		}
	}
}

func TestAddressFaults(t *testing.T) {
	for value, want := range map[string]string{
		"198.18.1.1:0": "want an address and a port like",
		"198.18.1.1":   "not an ip:port",
	} {
		d := good()
		d["sessions"].([]any)[0].(map[string]any)["connections"].([]any)[1].(map[string]any)["sender"] = value
		if _, err := Read(write(t, d), "s1"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", value, err, want)
		}
	}
}
