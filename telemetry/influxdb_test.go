package telemetry

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// startInfluxDB runs the machine's InfluxDB 1.x on a free port, with
// authentication, its data in a temporary folder.
func startInfluxDB(t *testing.T) Config {
	t.Helper()
	influxd, err := exec.LookPath("influxd")
	if err != nil {
		t.Skip("no influxd on this machine")
	}
	dir := t.TempDir()
	ports := freePorts(t, 2)
	text := fmt.Sprintf(`reporting-disabled = true
bind-address = "127.0.0.1:%d"
[meta]
dir = "%[2]s/meta"
[data]
dir = "%[2]s/data"
wal-dir = "%[2]s/wal"
[monitor]
store-enabled = false
[http]
bind-address = "127.0.0.1:%[3]d"
auth-enabled = true
log-enabled = false
`, ports[0], dir, ports[1])
	file := filepath.Join(dir, "influxdb.conf")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(influxd, "-config", file)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		command.Process.Signal(syscall.SIGTERM)
		command.Wait()
	})
	cfg := Config{IntervalMS: 100, URL: fmt.Sprintf("http://127.0.0.1:%d", ports[1]), Database: "test"}
	eventually(t, "InfluxDB answers", func() bool {
		answer, err := http.Get(cfg.URL + "/ping")
		if err != nil {
			return false
		}
		answer.Body.Close()
		return answer.StatusCode == http.StatusNoContent
	})
	query(t, cfg, "CREATE USER u WITH PASSWORD 'p' WITH ALL PRIVILEGES")
	query(t, cfg, "CREATE DATABASE test")
	return cfg
}

func freePorts(t *testing.T, n int) []int {
	t.Helper()
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

func query(t *testing.T, cfg Config, q string) string {
	t.Helper()
	request, err := http.NewRequest(http.MethodPost, cfg.URL+"/query?"+url.Values{"q": {q}, "db": {cfg.Database}}.Encode(), nil)
	if err != nil {
		t.Fatal(err)
	}
	request.SetBasicAuth("u", "p")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode/100 != 2 {
		t.Fatalf("%s: %s %s, %v", q, answer.Status, text, err)
	}
	return string(text)
}

// A real InfluxDB 1.x takes what is right, and its answers to what is wrong
// are counted rightly.
func TestRealInfluxDB(t *testing.T) {
	cfg := startInfluxDB(t)
	path := filepath.Join(t.TempDir(), "mixed.lp")
	var lines strings.Builder
	for i := range 50 {
		fmt.Fprintf(&lines, "m,run=r x=%d.5 %d\n", i, i+1)
	}
	lines.WriteString("m,run=r x=\"text\" 100\nm,run=r x=7i 101\n")
	if err := os.WriteFile(path, []byte(lines.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, want := StartPusher(cfg, login, io.Discard, path).Close(drain), (Counts{Points: 52, Pushed: 50, Rejected: 2}); got != want {
		t.Errorf("type conflicts: counts %+v, want %+v", got, want)
	}
	if err := os.WriteFile(path, []byte("m,run=r x=1.5 200\nnonsense\nm,run=r x=2.5 201\nm,run=r x= 5\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, want := StartPusher(cfg, login, io.Discard, path).Close(drain), (Counts{Points: 4, Pushed: 2, Rejected: 2}); got != want {
		t.Errorf("unreadable lines: counts %+v, want %+v", got, want)
	}
	if answer := query(t, cfg, "SELECT count(x) FROM m"); !strings.Contains(answer, ",52]") {
		t.Errorf("the database holds %s, want 52 points", answer)
	}
}
