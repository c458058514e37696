package main

import (
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ncp-testbed/internal/cli"
	"ncp-testbed/internal/controlsocket"
	"ncp-testbed/internal/test/agenttest"
	"ncp-testbed/ndn-agent/agent"
)

func TestMain(m *testing.M) { agenttest.Main(m, run) }

func startNode(t *testing.T, plan, host string) *agenttest.Agent {
	t.Helper()
	return agenttest.StartAgent(t, "run", "--plan", plan, "--node", host)
}

func await(a *agenttest.Agent, state string) agent.Status {
	return agenttest.Await[agent.Status](a, state)
}

func result(t *testing.T, a *agenttest.Agent) agent.Result {
	t.Helper()
	return agenttest.ReadResult[agent.Result](t, filepath.Join(a.Dir, "result.json"))
}

type object = map[string]any

// writePlan writes the plan of a chain over loopback, after a change to it.
func writePlan(t *testing.T, transport string, bytes int, change func(plan, ndn object)) string {
	t.Helper()
	port := func(host string) string { return agenttest.FreePort(t, transport, host) }
	a, b, c, d := port("127.0.0.1"), port("127.0.0.2"), port("127.0.0.2"), port("127.0.0.3")
	face := func(name, local, remote string, listen bool) object {
		return object{"name": name, "transport": transport, "local": local, "remote": remote, "listen": listen}
	}
	ndn := object{"prefix": "/ncp-testbed/file", "object_bytes": bytes, "segment_bytes": 4400, "nodes": []object{
		{"host": "h1", "role": "consumer", "faces": []object{face("h2", a, b, false)}, "consumer": object{"algorithm": "aimd"}},
		{"host": "h2", "role": "forwarder", "faces": []object{face("h1", b, a, true), face("h3", c, d, false)},
			"routes": []object{{"prefix": "/ncp-testbed", "face": "h3"}}, "marking": object{"mode": "hackathon"}},
		{"host": "h3", "role": "producer", "faces": []object{face("h2", d, c, true)}},
	}}
	plan := object{
		"schema": 2, "run": "r", "scenario": "test", "seed": 3, "sessions": []object{{"name": "s1"}}, "ndn": ndn,
		"telemetry": object{"interval_ms": 20, "url": "http://127.0.0.1:1", "database": "d"},
	}
	if change != nil {
		change(plan, ndn)
	}
	return agenttest.WritePlan(t, plan)
}

func TestChain(t *testing.T) {
	for _, transport := range []string{"udp", "tcp"} {
		t.Run(transport, func(t *testing.T) { testChain(t, transport) })
	}
}

func testChain(t *testing.T, transport string) {
	const size = 4<<20 + 7
	const segments = (size + 4399) / 4400
	plan := writePlan(t, transport, size, nil)
	consumer, forwarder, producer := startNode(t, plan, "h1"), startNode(t, plan, "h2"), startNode(t, plan, "h3")
	await(forwarder, controlsocket.Running)
	await(producer, controlsocket.Running)
	await(consumer, controlsocket.Ready)
	if code := producer.Post("/start"); code != http.StatusConflict {
		t.Errorf("starting a producer answered %d", code)
	}
	if code := consumer.Post("/start"); code != http.StatusOK {
		t.Errorf("starting the consumer answered %d", code)
	}
	consumer.End(cli.ExitDone)
	forwarder.Terminate(cli.ExitDone)
	producer.Terminate(cli.ExitDone)
	got, passed, offered := result(t, consumer), result(t, forwarder), result(t, producer)
	if got.SHA256 != offered.SHA256 || len(got.SHA256) != 64 || got.Bytes != size || offered.Bytes != size || got.Segments != segments {
		t.Errorf("fetched %d bytes %s, offered %d bytes %s", got.Bytes, got.SHA256, offered.Bytes, offered.SHA256)
	}
	if got.Error+passed.Error+offered.Error != "" || got.GoodputBPS <= 0 || got.RTTMS.Median <= 0 || got.RTTMS.P95 < got.RTTMS.Median ||
		got.Figures["goodput_mbps"] != got.GoodputBPS/1e6 || got.Figures["retransmissions"] != float64(got.Retransmissions) {
		t.Errorf("%+v, %+v", got, got.ConsumerResult)
	}
	if len(passed.Faces) != 2 || passed.Marking.ThresholdBytes != 50_000 || passed.PendingMax == 0 {
		t.Fatalf("%+v", passed)
	}
	down, up := passed.Faces[0], passed.Faces[1]
	if down.InInterests < segments || up.InData < segments || down.OutData < segments || down.OutInterests+up.OutData != 0 ||
		got.Marks > down.MarksSet || offered.Answered < segments {
		t.Errorf("down %+v, up %+v, marks %d, %+v", down, up, got.Marks, offered.ProducerResult)
	}
	checkFiles(t, consumer, segments)
	for _, n := range []*agenttest.Agent{forwarder, producer} {
		checkSpool(t, n, "ndn,face=h2,node=h3,role=producer,", "ndn,face=h3,node=h2,role=forwarder,")
	}
}

// checkFiles looks at what a consumer leaves beside its result.
func checkFiles(t *testing.T, n *agenttest.Agent, segments int) {
	t.Helper()
	checkSpool(t, n, "event,kind=transfer_start,run=r,scenario=test,session=s1 at_s=0,")
	checkSpool(t, n, "event,kind=transfer_end,run=r,scenario=test,session=s1 at_s=")
	checkSpool(t, n, "ndn,face=h2,node=h1,role=consumer,run=r,scenario=test,session=s1 ")
	file, err := os.Open(filepath.Join(n.Dir, "segments.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil || len(rows) != segments+1 || strings.Join(rows[0], " ") != "t_ms segment rtt_ms cwnd marked retransmitted" {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}

// checkSpool finds a line that begins with one of some texts, and all lines counted.
func checkSpool(t *testing.T, n *agenttest.Agent, any ...string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(n.Dir, "telemetry.lp"))
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for line := range strings.Lines(string(text)) {
		for _, prefix := range any {
			found = found || strings.HasPrefix(line, prefix)
		}
	}
	if points := result(t, n).Telemetry.Points; !found || points != strings.Count(string(text), "\n") {
		t.Errorf("%d points counted; a line begins with one of %q: %t", points, any, found)
	}
}

// SIGTERM ends a consumer with what it has: a partial result, the spool, exit 1.
func TestTerminated(t *testing.T) {
	const size = 16 << 20
	plan := writePlan(t, "udp", size, func(_, ndn object) { // many segments, and a window that hardly grows
		ndn["segment_bytes"] = 50
		ndn["nodes"].([]object)[0]["consumer"] = object{"aimd_step": 0.001}
	})
	forwarder, producer := startNode(t, plan, "h2"), startNode(t, plan, "h3")
	await(forwarder, controlsocket.Running)
	await(producer, controlsocket.Running)
	consumer := startNode(t, plan, "h1")
	await(consumer, controlsocket.Ready)
	consumer.Post("/start")
	for await(consumer, controlsocket.Running).Segments == 0 {
	}
	consumer.Terminate(cli.ExitFailed)
	r := result(t, consumer)
	if r.Segments == 0 || r.Bytes == size || !strings.Contains(r.Error, "terminated") || r.Telemetry.Points == 0 {
		t.Errorf("%+v", r)
	}
	waiting := startNode(t, plan, "h1")
	await(waiting, controlsocket.Ready)
	waiting.Terminate(cli.ExitFailed)
	if r := result(t, waiting); !strings.Contains(r.Error, "before the start") {
		t.Errorf("%+v", r)
	}
}

// A TCP face waits for its peer, and says so.
func TestWaitsForPeer(t *testing.T) {
	plan := writePlan(t, "tcp", 1, nil)
	consumer := startNode(t, plan, "h1")
	for !strings.Contains(await(consumer, controlsocket.Waiting).Error, "face h2: ") {
	}
	consumer.Terminate(cli.ExitFailed)
}

// Three nodes without a plan, the object in a file, its version discovered.
func TestAlone(t *testing.T) {
	for _, transport := range []string{"udp", "tcp"} {
		dir := t.TempDir()
		content := make([]byte, 3<<20+1)
		for i := range content {
			content[i] = byte(i >> 7)
		}
		in, out, report := filepath.Join(dir, "in"), filepath.Join(dir, "out"), filepath.Join(dir, "report")
		if err := os.WriteFile(in, content, 0o644); err != nil {
			t.Fatal(err)
		}
		put := agenttest.Start(t, "put", "--listen", transport+"://127.0.0.1:0", "--file", in, "/o/v=5")
		producer := put.Line("listening ")
		put.Line("ready")
		forward := agenttest.Start(t, "forward", "--listen", transport+"://127.0.0.1:0", "--face", "p="+producer, "--route", "/o=p", "--mtu", "1400",
			"--marking", "nfd", "--report", report)
		forwarder := forward.Line("listening ")
		forward.Line("ready")
		get := agenttest.Start(t, "get", "--face", forwarder, "--out", out, "--algorithm", "cubic", "/o")
		sum := sha256.Sum256(content)
		get.Line(`  "sha256": "` + hex.EncodeToString(sum[:]))
		get.End(cli.ExitDone)
		forward.Terminate(cli.ExitDone)
		put.Terminate(cli.ExitDone)
		if got, err := os.ReadFile(out); err != nil || string(got) != string(content) {
			t.Errorf("%s: %d bytes arrived, %v", transport, len(got), err)
		}
		r := agenttest.ReadResult[agent.Result](t, report)
		faces := len(r.Faces)
		if r.GoneFaces.InInterests > 0 { // the consumer's, once it has ended and something for it has come back
			faces++
		}
		if faces != 2 || r.PendingMax == 0 || r.Marking.Mode != "nfd" {
			t.Errorf("%s: %+v", transport, r)
		}
	}
}

func TestBadInput(t *testing.T) {
	change := func(f func(nodes []object)) string {
		return writePlan(t, "udp", 1000, func(_, ndn object) { f(ndn["nodes"].([]object)) })
	}
	inPlan := func(file, host string) []string {
		return []string{"run", "--plan", file, "--node", host, "--dir", "/", "--control", "/x"}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "usage:"},
		{[]string{"relay"}, `unknown verb "relay"`},
		{[]string{"run"}, "--plan: not given"},
		{inPlan("/nowhere", "h1"), "/nowhere"},
		{inPlan(change(func([]object) {}), "h9"), `none is on host "h9", there are: h1, h2, h3`},
		{inPlan(change(func(n []object) { n[0]["role"] = "router" }), "h1"), `ndn.nodes[0].role: "router", want consumer`},
		{inPlan(change(func(n []object) { n[1]["marking"] = object{"mode": "red"} }), "h2"), `ndn.nodes[1].marking.mode: "red", want off`},
		{inPlan(change(func(n []object) { n[1]["routes"] = []object{{"prefix": "/a", "face": "h7"}} }), "h2"), `ndn.nodes[1].routes[0].face: "h7"`},
		{inPlan(change(func(n []object) { n[0]["consumer"] = object{"aimd_beta": 2} }), "h1"), "ndn.nodes[0].consumer.aimd_beta: 2, want 0.01 to 0.99"},
		{inPlan(change(func(n []object) { n[2]["faces"].([]object)[0]["mtu_bytes"] = 5 }), "h3"), "ndn.nodes[2].faces[0].mtu_bytes: 5, want 256"},
		{inPlan(change(func(n []object) { n[2]["faces"].([]object)[0]["remote"] = "[::1]:1" }), "h3"), "ndn.nodes[2].faces[0].remote"},
		{inPlan(writePlan(t, "udp", 0, nil), "h3"), "ndn.object_bytes: 0, want 1"},
		{[]string{"get", "/a"}, "no face"},
		{[]string{"get", "--face", "udp://127.0.0.1:1"}, "0 arguments after the options, want 1"},
		{[]string{"get", "--face", "ftp://127.0.0.1:1", "/a"}, `transport "ftp", want udp or tcp`},
		{[]string{"get", "--face", "udp://127.0.0.1:1", "a"}, `"a" is no name`},
		{[]string{"get", "--face", "udp://127.0.0.1:1", "--algorithm", "bic", "/a"}, `algorithm: "bic", want aimd or cubic`},
		{[]string{"put", "--listen", "udp://127.0.0.1:0", "/a"}, "want either --file or --bytes"},
		{[]string{"put", "--listen", "udp://127.0.0.1:0", "--file", "/nowhere", "/a"}, "/nowhere"},
		{[]string{"forward", "--listen", "udp://127.0.0.1:0", "--route", "/a=x"}, "--route /a=x: want the name of a --face"},
		{[]string{"forward", "--listen", "udp://127.0.0.1:0", "--marking", "red"}, `--marking "red", want off, hackathon or nfd`},
	} {
		agenttest.Refuses(t, c.args, cli.ExitBadInput, c.want)
	}
}
