package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ncp-testbed/internal/cli"
	"ncp-testbed/internal/test/agenttest"
	"ncp-testbed/ncp-agent/agent"
	"ncp-testbed/ncp-agent/metrics"
)

func TestMain(m *testing.M) { agenttest.Main(m, agent.Main) }

func start(t *testing.T, role, plan string, more ...string) *agenttest.Agent {
	t.Helper()
	return agenttest.StartAgent(t, append([]string{role, "--plan", plan, "--session", "s1"}, more...)...)
}

func await(a *agenttest.Agent, state string) agent.Status {
	return agenttest.Await[agent.Status](a, state)
}

func result(t *testing.T, a *agenttest.Agent) metrics.Result {
	t.Helper()
	return agenttest.ReadResult[metrics.Result](t, filepath.Join(a.Dir, "result.json"))
}

// writePlan writes a plan over loopback, after a change to its session.
func writePlan(t *testing.T, bytes int, url string, change func(session map[string]any)) string {
	t.Helper()
	var connections []any
	for i, link := range []string{"fast", "slow"} {
		connections = append(connections, map[string]any{"index": i + 1, "link": link, "send_buffer_packets": 64,
			"sender": agenttest.FreePort(t, "udp", "127.0.0.1"), "receiver": agenttest.FreePort(t, "udp", "127.0.0.2")})
	}
	session := map[string]any{
		"name": "s1", "policy": "nkp24", "transport": "udp", "transfer_bytes": bytes,
		"send_window_bytes": 4 << 20, "mtu_bytes": 1024, "initial_windows": nil,
		"ack_interval_ms": 50, "max_ack_ranges": 32, "timeout_check_ms": 50, "linger_ms": 1000,
		"connections": connections,
	}
	if change != nil {
		change(session)
	}
	return agenttest.WritePlan(t, map[string]any{
		"schema": 2, "run": "r", "scenario": "test", "seed": 3, "sessions": []any{session},
		"telemetry": map[string]any{"interval_ms": 20, "url": url, "database": "d"},
	})
}

func TestTransfer(t *testing.T) {
	for _, transport := range []string{"udp", "tcp"} {
		t.Run(transport, func(t *testing.T) { testTransfer(t, transport) })
	}
}

func testTransfer(t *testing.T, transport string) {
	const size = 20<<20 + 7
	lines := make(chan string, 10000)
	influxdb := serve(t, func(body string) {
		for line := range strings.Lines(body) {
			lines <- line
		}
	})
	login := filepath.Join(t.TempDir(), "login.json")
	if err := os.WriteFile(login, []byte(`{"username": "u", "password": "p"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	plan := writePlan(t, size, influxdb, func(session map[string]any) { session["transport"] = transport })
	receiver := start(t, "receiver", plan, "--credentials", login)
	sender := start(t, "sender", plan, "--credentials", login)
	await(receiver, "ready")
	await(sender, "ready")
	if code := receiver.Post("/start"); code != http.StatusConflict {
		t.Errorf("starting a receiver answered %d", code)
	}
	if code := sender.Post("/start"); code != http.StatusOK {
		t.Errorf("starting the sender answered %d", code)
	}
	sender.End(cli.ExitDone)
	receiver.End(cli.ExitDone)
	sent, received := result(t, sender), result(t, receiver)
	if sent.SHA256 != received.SHA256 || sent.Bytes != size || received.Bytes != size || len(sent.SHA256) != 64 {
		t.Errorf("sent %d bytes %s, received %d bytes %s", sent.Bytes, sent.SHA256, received.Bytes, received.SHA256)
	}
	if empty := sha256.Sum256(nil); sent.SHA256 == hex.EncodeToString(empty[:]) {
		t.Error("the sum is that of nothing")
	}
	var acked, delivered uint64
	for i := range sent.Connections {
		acked += sent.Connections[i].Acked
		delivered += received.Connections[i].Delivered
	}
	if packets := uint64((size + 1023) / 1024); acked != delivered || acked < packets {
		t.Errorf("%d packets acknowledged, %d delivered, at least %d expected", acked, delivered, packets)
	}
	if want := float64(size) * 8 / sent.DurationS; math.Abs(sent.GoodputBPS-want) > 1e-6*want {
		t.Errorf("goodput %v, want %v", sent.GoodputBPS, want)
	}
	checkTelemetry(t, sent, received, sender, receiver, lines)
}

// checkTelemetry finds every spooled line in what was pushed, and the events.
func checkTelemetry(t *testing.T, sent, received metrics.Result, sender, receiver *agenttest.Agent, lines chan string) {
	t.Helper()
	close(lines)
	pushed := map[string]bool{}
	for line := range lines {
		pushed[line] = true
	}
	spooled := 0
	for _, p := range []*agenttest.Agent{sender, receiver} {
		text, err := os.ReadFile(filepath.Join(p.Dir, "telemetry.lp"))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			spooled++
			if !pushed[line] {
				t.Errorf("not pushed: %s", line)
			}
		}
	}
	for _, r := range []metrics.Result{sent, received} {
		if c := r.Telemetry; c.Points == 0 || c.Pushed != c.Points || c.Rejected != 0 {
			t.Errorf("%s: telemetry %+v", r.Role, c)
		}
	}
	if n := sent.Telemetry.Points + received.Telemetry.Points; n != spooled {
		t.Errorf("%d points counted, %d spooled", n, spooled)
	}
	for _, want := range []string{
		"event,kind=transfer_start,run=r,scenario=test,session=s1 at_s=0,",
		"event,kind=transfer_end,run=r,scenario=test,session=s1 at_s=",
		"ncp_connection,connection=1,policy=nkp24,role=sender,run=r,scenario=test,session=s1 ",
		"ncp_connection,connection=2,policy=nkp24,role=receiver,run=r,scenario=test,session=s1 ",
		"ncp_session,policy=nkp24,role=sender,run=r,scenario=test,session=s1 ",
	} {
		found := false
		for line := range pushed {
			found = found || strings.HasPrefix(line, want)
		}
		if !found {
			t.Errorf("no line begins with %q", want)
		}
	}
}

func serve(t *testing.T, take func(body string)) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		take(string(body))
		w.WriteHeader(http.StatusNoContent)
	})}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	return fmt.Sprintf("http://%s", l.Addr())
}

// A plan that asks for traces gets one of each end, with every packet that it
// counted.
func TestTrace(t *testing.T) {
	for _, transport := range []string{"udp", "tcp"} {
		plan := writePlan(t, 1<<20, "http://127.0.0.1:1", func(session map[string]any) { session["transport"] = transport })
		text, err := os.ReadFile(plan)
		if err != nil {
			t.Fatal(err)
		}
		asked := strings.Replace(string(text), "{", `{"traces": {"qlog": true}, `, 1)
		if err := os.WriteFile(plan, []byte(asked), 0o644); err != nil {
			t.Fatal(err)
		}
		receiver, sender := start(t, "receiver", plan), start(t, "sender", plan)
		await(receiver, "ready")
		await(sender, "ready")
		sender.Post("/start")
		sender.End(cli.ExitDone)
		receiver.End(cli.ExitDone)
		for _, end := range []struct {
			agent *agenttest.Agent
			event string
			count func(metrics.ConnectionResult) uint64
		}{
			{sender, "packet_sent", func(c metrics.ConnectionResult) uint64 { return c.Sent }},
			{receiver, "packet_received", func(c metrics.ConnectionResult) uint64 { return c.Received }},
		} {
			trace, err := os.ReadFile(filepath.Join(end.agent.Dir, "trace.sqlog"))
			if err != nil {
				t.Fatal(err)
			}
			want, got := uint64(0), uint64(0)
			for _, c := range result(t, end.agent).Connections {
				want += end.count(c)
			}
			for line := range strings.Lines(string(trace)) {
				if !json.Valid([]byte(strings.TrimPrefix(line, "\x1e"))) {
					t.Fatalf("not JSON: %q", line)
				}
				if strings.Contains(line, end.event) && strings.Contains(line, `"sequence"`) {
					got++
				}
			}
			if got != want || want < 1024 {
				t.Errorf("%s: %d of %s, the result has %d", transport, got, end.event, want)
			}
		}
	}
}

// SIGTERM ends an agent with what it has: a partial result, the spool, exit 1.
func TestTerminated(t *testing.T) {
	plan := writePlan(t, 1<<40, "http://127.0.0.1:1", nil)
	receiver, sender := start(t, "receiver", plan), start(t, "sender", plan)
	await(receiver, "ready")
	await(sender, "ready")
	sender.Post("/start")
	for await(receiver, "running").Bytes == 0 {
		time.Sleep(10 * time.Millisecond)
	}
	receiver.Terminate(cli.ExitFailed)
	if r := result(t, receiver); r.Bytes == 0 || !strings.Contains(r.Error, "terminated") || r.Telemetry.Points == 0 {
		t.Errorf("the receiver's result is %+v", r)
	}
	sender.Terminate(cli.ExitFailed)
	if s := result(t, sender); s.Error == "" || s.SHA256 == "" {
		t.Errorf("the sender's result is %+v", s)
	}
}

func TestBadInput(t *testing.T) {
	plan := writePlan(t, 0, "http://127.0.0.1:1", nil)
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "usage:"},
		{[]string{"relay"}, `unknown verb "relay"`},
		{[]string{"sender"}, "--plan: not given"},
		{[]string{"sender", "--plan", plan, "--session", "s1", "--dir", "/", "--control", "/x"}, "sessions[0].transfer_bytes: 0, want 1"},
		{[]string{"receiver", "--plan", "/nowhere", "--session", "s1", "--dir", "/", "--control", "/x"}, "/nowhere"},
	} {
		agenttest.Refuses(t, c.args, cli.ExitBadInput, c.want)
	}
}
