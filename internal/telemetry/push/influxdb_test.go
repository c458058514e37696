package push

import (
	"encoding/json"
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

	"ncp-testbed/internal/telemetry"
)

// influxDB is the machine's InfluxDB 1.x on a port of its own, with
// authentication, its data in a temporary folder.
type influxDB struct {
	telemetry.Config
	influxd, file string
	command       *exec.Cmd
}

func newInfluxDB(t testing.TB) *influxDB {
	t.Helper()
	influxd, err := exec.LookPath("influxd")
	if err != nil {
		t.Skip("influxd is not installed")
	}
	dir := t.TempDir()
	ports := freePorts(t, 2)
	db := &influxDB{
		Config:  telemetry.Config{IntervalMS: 100, URL: fmt.Sprintf("http://127.0.0.1:%d", ports[1]), Database: "test"},
		influxd: influxd, file: filepath.Join(dir, "influxdb.conf"),
	}
	writeFile(t, db.file, fmt.Sprintf(`reporting-disabled = true
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
`, ports[0], dir, ports[1]))
	db.start(t)
	t.Cleanup(func() { db.end(syscall.SIGTERM) })
	query(t, db.Config, "CREATE USER u WITH PASSWORD 'p' WITH ALL PRIVILEGES")
	query(t, db.Config, "CREATE DATABASE test")
	return db
}

// start starts the server and waits until it answers.
func (db *influxDB) start(t testing.TB) {
	t.Helper()
	db.command = exec.Command(db.influxd, "-config", db.file)
	if err := db.command.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "InfluxDB answers", func() bool {
		answer, err := http.Get(db.URL + "/ping")
		if err != nil {
			return false
		}
		answer.Body.Close()
		return answer.StatusCode == http.StatusNoContent
	})
}

func (db *influxDB) end(signal os.Signal) {
	db.command.Process.Signal(signal)
	db.command.Wait()
}

func freePorts(t testing.TB, n int) []int {
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

func query(t testing.TB, cfg telemetry.Config, q string) []byte {
	t.Helper()
	request, err := http.NewRequest(http.MethodPost, cfg.URL+"/query?"+url.Values{"q": {q}, "db": {cfg.Database}, "epoch": {"ns"}}.Encode(), nil)
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
	return text
}

// rows returns the rows of one measurement, all columns as text, by time.
func rows(t testing.TB, cfg telemetry.Config, selection string) [][]string {
	t.Helper()
	var answer struct {
		Results []struct {
			Series []struct{ Values [][]json.RawMessage }
		}
	}
	if err := json.Unmarshal(query(t, cfg, selection), &answer); err != nil {
		t.Fatal(err)
	}
	var list [][]string
	for _, series := range answer.Results[0].Series {
		for _, values := range series.Values {
			row := make([]string, len(values))
			for i, v := range values {
				row[i] = strings.Trim(string(v), `"`)
			}
			list = append(list, row)
		}
	}
	return list
}

// A real InfluxDB 1.x takes what is right, and of what is wrong as much is
// counted as it leaves out.
func TestRealInfluxDBRejects(t *testing.T) {
	db := newInfluxDB(t)
	var good strings.Builder
	for i := range 50 {
		fmt.Fprintf(&good, "m,run=r x=%d.5 %d\n", i, i+1)
	}
	stored := 0
	for _, c := range []struct {
		name, text string
		want       telemetry.Counts
	}{
		{"nothing", good.String(), telemetry.Counts{Points: 50, Pushed: 50, Rejected: 0}},
		{"types", "m,run=r x=\"text\" 100\nm,run=r x=7i 101\nm,run=r x=1 102\n", telemetry.Counts{Points: 3, Pushed: 1, Rejected: 2}},
		{"unreadable lines", "m,run=r x=1.5 200\nnonsense\nm,run=r x=2.5 201\nm,run=r x= 5\n", telemetry.Counts{Points: 4, Pushed: 2, Rejected: 2}},
		{"types and unreadable lines", "m,run=r x=\"t\" 300\nnonsense\nm,run=r x=2.5 301\nm,run=r x=7i 302\n\n#\nm,run=r x= 9\nm,=r x=1 9\nm,run=r x=1 9a\n", telemetry.Counts{Points: 7, Pushed: 1, Rejected: 6}},
		{"an open quote before good lines", "m,run=r x=1 400\nm,run=r s=\"abc 401\nm,run=r x=2 402\nm,run=r x=3 403\n", telemetry.Counts{Points: 4, Pushed: 3, Rejected: 1}},
		{"unreadable lines only", "a\nb\nc\n", telemetry.Counts{Points: 3, Pushed: 0, Rejected: 3}},
	} {
		path := filepath.Join(t.TempDir(), "spool.lp")
		writeFile(t, path, c.text)
		var log syncBuffer
		if got := Start(db.Config, login, &log, path).Close(drain); got != c.want {
			t.Errorf("%s: counts %+v, want %+v; %s", c.name, got, c.want, log.String())
		}
		stored += c.want.Pushed
		if n := len(rows(t, db.Config, "SELECT x FROM m")); n != stored {
			t.Errorf("%s: the database holds %d points, want %d", c.name, n, stored)
		}
	}
}

// Credentials that a real InfluxDB refuses: of nobody, and of a user who may
// only read.
func TestRealInfluxDBRefusesCredentials(t *testing.T) {
	db := newInfluxDB(t)
	query(t, db.Config, "CREATE USER reader WITH PASSWORD 'p'")
	query(t, db.Config, "GRANT READ ON test TO reader")
	for user, want := range map[string]string{"nobody": `does not know user "nobody"`, "reader": `user "reader" may not write`} {
		s, path := newSpool(t)
		add(t, s, 0, 10)
		var log syncBuffer
		p := Start(db.Config, telemetry.Credentials{Username: user, Password: "p"}, &log, path)
		eventually(t, want, func() bool { return strings.Contains(log.String(), want) })
		if got, want := p.Close(0), (telemetry.Counts{Points: 10}); got != want {
			t.Errorf("%s: counts %+v, want %+v", user, got, want)
		}
	}
}
