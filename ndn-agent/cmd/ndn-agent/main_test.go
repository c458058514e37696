package main

import (
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ncp-testbed/ncp-agent/controlsocket"
)

func freePort(t *testing.T, transport, host string) string {
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

type object = map[string]any

// writePlan writes the plan of a chain over loopback, after a change to it.
func writePlan(t *testing.T, transport string, bytes int, change func(plan, ndn object)) string {
	t.Helper()
	a, b, c, d := freePort(t, transport, "127.0.0.1"), freePort(t, transport, "127.0.0.2"), freePort(t, transport, "127.0.0.2"), freePort(t, transport, "127.0.0.3")
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
		"schema": 1, "run": "r", "scenario": "test", "seed": 3, "sessions": []object{{"name": "s1"}}, "ndn": ndn,
		"telemetry": object{"interval_ms": 20, "url": "http://127.0.0.1:1", "database": "d"},
	}
	if change != nil {
		change(plan, ndn)
	}
	text, err := json.Marshal(plan)
	file := filepath.Join(t.TempDir(), "plan.json")
	if err == nil {
		err = os.WriteFile(file, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return file
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
	forwarder.await(controlsocket.Running)
	producer.await(controlsocket.Running)
	consumer.await(controlsocket.Ready)
	if code := producer.post("/start"); code != http.StatusConflict {
		t.Errorf("starting a producer answered %d", code)
	}
	if code := consumer.post("/start"); code != http.StatusOK {
		t.Errorf("starting the consumer answered %d", code)
	}
	consumer.end(exitDone)
	forwarder.terminate(exitDone)
	producer.terminate(exitDone)
	got, passed, offered := consumer.result(), forwarder.result(), producer.result()
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
	for _, n := range []*planned{forwarder, producer} {
		checkSpool(t, n, "ndn,face=h2,node=h3,role=producer,", "ndn,face=h3,node=h2,role=forwarder,")
	}
}

// checkFiles looks at what a consumer leaves beside its result.
func checkFiles(t *testing.T, n *planned, segments int) {
	t.Helper()
	checkSpool(t, n, "event,kind=transfer_start,run=r,scenario=test,session=s1 at_s=0,")
	checkSpool(t, n, "event,kind=transfer_end,run=r,scenario=test,session=s1 at_s=")
	checkSpool(t, n, "ndn,face=h2,node=h1,role=consumer,run=r,scenario=test,session=s1 ")
	file, err := os.Open(filepath.Join(n.dir, "segments.csv"))
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
func checkSpool(t *testing.T, n *planned, any ...string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(n.dir, "telemetry.lp"))
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for line := range strings.Lines(string(text)) {
		for _, prefix := range any {
			found = found || strings.HasPrefix(line, prefix)
		}
	}
	if points := n.result().Telemetry.Points; !found || points != strings.Count(string(text), "\n") {
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
	forwarder.await(controlsocket.Running)
	producer.await(controlsocket.Running)
	consumer := startNode(t, plan, "h1")
	consumer.await(controlsocket.Ready)
	consumer.post("/start")
	for consumer.await(controlsocket.Running).Segments == 0 {
	}
	consumer.terminate(exitFailed)
	r := consumer.result()
	if r.Segments == 0 || r.Bytes == size || !strings.Contains(r.Error, "terminated") || r.Telemetry.Points == 0 {
		t.Errorf("%+v", r)
	}
	waiting := startNode(t, plan, "h1")
	waiting.await(controlsocket.Ready)
	waiting.terminate(exitFailed)
	if r := waiting.result(); !strings.Contains(r.Error, "before the start") {
		t.Errorf("%+v", r)
	}
}

// A TCP face waits for its peer, and says so.
func TestWaitsForPeer(t *testing.T) {
	plan := writePlan(t, "tcp", 1, nil)
	consumer := startNode(t, plan, "h1")
	for !strings.Contains(consumer.await(controlsocket.Waiting).Error, "face h2: ") {
	}
	consumer.terminate(exitFailed)
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
		put := start(t, "put", "--listen", transport+"://127.0.0.1:0", "--file", in, "/o/v=5")
		producer := put.say("listening ")
		put.say("ready")
		forward := start(t, "forward", "--listen", transport+"://127.0.0.1:0", "--face", "p="+producer, "--route", "/o=p", "--mtu", "1400",
			"--marking", "nfd", "--report", report)
		forwarder := forward.say("listening ")
		forward.say("ready")
		get := start(t, "get", "--face", forwarder, "--out", out, "--algorithm", "cubic", "/o")
		sum := sha256.Sum256(content)
		get.say(`  "sha256": "` + hex.EncodeToString(sum[:]))
		get.end(exitDone)
		forward.terminate(exitDone)
		put.terminate(exitDone)
		if got, err := os.ReadFile(out); err != nil || string(got) != string(content) {
			t.Errorf("%s: %d bytes arrived, %v", transport, len(got), err)
		}
		if r := readResult(t, report); len(r.Faces) != 2 && transport == "udp" || r.PendingMax == 0 || r.Marking.Mode != "nfd" {
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
		{[]string{"run"}, "usage:"},
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
		{[]string{"get", "--face", "udp://127.0.0.1:1"}, "0 arguments after the flags, want 1"},
		{[]string{"get", "--face", "ftp://127.0.0.1:1", "/a"}, `transport "ftp", want udp or tcp`},
		{[]string{"get", "--face", "udp://127.0.0.1:1", "a"}, `"a" is no name`},
		{[]string{"get", "--face", "udp://127.0.0.1:1", "--algorithm", "bic", "/a"}, `algorithm: "bic", want aimd or cubic`},
		{[]string{"put", "--listen", "udp://127.0.0.1:0", "/a"}, "want either --file or --bytes"},
		{[]string{"put", "--listen", "udp://127.0.0.1:0", "--file", "/nowhere", "/a"}, "/nowhere"},
		{[]string{"forward", "--listen", "udp://127.0.0.1:0", "--route", "/a=x"}, "--route /a=x: want the name of a --face"},
		{[]string{"forward", "--listen", "udp://127.0.0.1:0", "--marking", "red"}, `--marking "red", want off, hackathon or nfd`},
	} {
		command := exec.Command(os.Args[0], c.args...)
		command.Env = asAgent()
		out, _ := command.CombinedOutput()
		if code := command.ProcessState.ExitCode(); code != exitBad || !strings.Contains(string(out), c.want) {
			t.Errorf("%v: exit code %d, said %q, want 2 and %q", c.args, code, out, c.want)
		}
	}
}
