package push

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"ncp-testbed/internal/telemetry"
)

// fakeInfluxDB is a local server with InfluxDB's write API: it keeps lines, and
// can be told to fail, to reject, to stop and to come back on the same port.
type fakeInfluxDB struct {
	t    testing.TB
	addr string

	mu       sync.Mutex
	server   *http.Server
	lines    map[string]int // how often each was taken
	answer   func(lines []string) (status int, body string, take int)
	requests int
}

func startFake(t testing.TB) *fakeInfluxDB {
	f := &fakeInfluxDB{t: t, lines: map[string]int{}}
	f.start("127.0.0.1:0")
	t.Cleanup(f.stop)
	return f
}

func (f *fakeInfluxDB) start(addr string) {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		f.t.Fatal(err)
	}
	f.addr = listener.Addr().String()
	server := &http.Server{Handler: f}
	f.mu.Lock()
	f.server = server
	f.mu.Unlock()
	go server.Serve(listener)
}

func (f *fakeInfluxDB) stop() {
	f.mu.Lock()
	server := f.server
	f.mu.Unlock()
	server.Close()
}

func (f *fakeInfluxDB) answers(answer func(lines []string) (int, string, int)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer = answer
}

func (f *fakeInfluxDB) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests++
	user, password, _ := r.BasicAuth()
	q := r.URL.Query()
	if r.Method != http.MethodPost || r.URL.Path != "/write" || q.Get("db") != "test" || q.Get("precision") != "ns" || user != "u" || password != "p" {
		f.t.Errorf("request %s %s as %s", r.Method, r.URL, user)
	}
	text := string(body)
	if !strings.HasSuffix(text, "\n") {
		f.t.Errorf("a batch ends within a line: %q", text[max(0, len(text)-40):])
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	status, message, take := http.StatusNoContent, "", len(lines)
	if f.answer != nil {
		status, message, take = f.answer(lines)
	}
	for _, line := range lines[:take] {
		f.lines[line]++
	}
	w.WriteHeader(status)
	if message != "" {
		fmt.Fprintf(w, `{"error":%q}`, message)
	}
}

func (f *fakeInfluxDB) taken() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.lines)
}

func (f *fakeInfluxDB) seen() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.requests
}

func (f *fakeInfluxDB) config() telemetry.Config {
	return telemetry.Config{IntervalMS: 100, URL: "http://" + f.addr, Database: "test"}
}
