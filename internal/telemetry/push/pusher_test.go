package push

import (
	"bytes"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ncp-testbed/internal/telemetry"
)

var login = telemetry.Credentials{Username: "u", Password: "p"}

const drain = 20 * time.Second

// add appends n points to a spool, numbered from first.
func add(t testing.TB, s *telemetry.Spool, first, n int) {
	t.Helper()
	var p telemetry.Points
	for i := first; i < first+n; i++ {
		p.Add("m", telemetry.MakeTags(map[string]string{"run": "r"}), time.Unix(0, int64(i)), telemetry.Int("i", i))
	}
	if err := s.Append(&p); err != nil {
		t.Fatal(err)
	}
}

func newSpool(t testing.TB) (*telemetry.Spool, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "telemetry.lp")
	s, err := telemetry.OpenSpool(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, path
}

func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

func TestPushesWhatTheSpoolHolds(t *testing.T) {
	f := startFake(t)
	s, path := newSpool(t)
	add(t, s, 0, 3*maxBatchPoints+10)
	p := Start(f.config(), login, io.Discard, path)
	eventually(t, "first part", func() bool { return f.taken() == 3*maxBatchPoints+10 })
	add(t, s, 100000, 20)
	got := p.Close(drain)
	want := telemetry.Counts{Points: 3*maxBatchPoints + 30, Pushed: 3*maxBatchPoints + 30}
	if got != want || f.taken() != want.Points {
		t.Errorf("counts %+v, %d lines taken; want %+v", got, f.taken(), want)
	}
}

// InfluxDB goes away, comes back failing, then works: nothing is lost.
func TestOutageLosesNothing(t *testing.T) {
	f := startFake(t)
	s, path := newSpool(t)
	var log syncBuffer
	p := Start(f.config(), login, &log, path)
	add(t, s, 0, 100)
	eventually(t, "before the outage", func() bool { return f.taken() == 100 })
	f.stop()
	add(t, s, 100, 100)
	eventually(t, "the outage is noticed", func() bool { return strings.Contains(log.String(), "spool holds") })
	f.answers(func([]string) (int, string, int) { return http.StatusInternalServerError, "timeout", 0 })
	f.start(f.addr)
	before := f.seen()
	eventually(t, "failing requests", func() bool { return f.seen() > before+1 })
	add(t, s, 200, 100)
	f.answers(nil)
	if got, want := p.Close(drain), (telemetry.Counts{Points: 300, Pushed: 300}); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
	if f.taken() != 300 {
		t.Errorf("%d lines taken, want 300", f.taken())
	}
	if !strings.Contains(log.String(), "answers again") {
		t.Errorf("log %q does not tell of the end of the outage", log.String())
	}
}

func TestRejectionsAreCountedAndNotRepeated(t *testing.T) {
	for name, c := range map[string]struct {
		body     string
		take     int
		rejected int
		requests int
	}{
		"partial write": {`partial write: field type conflict: input field "x" on measurement "m" is type float, already exists as type integer dropped=3`, 7, 3, 1},
		"parse errors":  {"partial write: unable to parse 'a': missing fields\nunable to parse 'b': missing fields dropped=0", 8, 2, 1},
		"bad request":   {"unable to parse 'a': missing fields", 0, 10, 20},
	} {
		t.Run(name, func(t *testing.T) {
			f := startFake(t)
			f.answers(func(lines []string) (int, string, int) {
				return http.StatusBadRequest, c.body, min(c.take, len(lines))
			})
			s, path := newSpool(t)
			add(t, s, 0, 10)
			var log syncBuffer
			got := Start(f.config(), login, &log, path).Close(drain)
			if want := (telemetry.Counts{Points: 10, Pushed: 10 - c.rejected, Rejected: c.rejected}); got != want {
				t.Errorf("counts %+v, want %+v", got, want)
			}
			if f.seen() > c.requests {
				t.Errorf("%d requests, want at most %d", f.seen(), c.requests)
			}
			if !strings.Contains(log.String(), "rejected") || !strings.Contains(log.String(), "unable to parse") && !strings.Contains(log.String(), "conflict") {
				t.Errorf("log %q does not tell why", log.String())
			}
		})
	}
}

// With InfluxDB away at the end, Close comes back in time and says how many
// points are in the spool only.
func TestDrainHasADeadline(t *testing.T) {
	f := startFake(t)
	f.answers(func([]string) (int, string, int) { return http.StatusServiceUnavailable, "", 0 })
	s, path := newSpool(t)
	add(t, s, 0, 2*maxBatchPoints)
	p := Start(f.config(), login, io.Discard, path)
	closed := make(chan telemetry.Counts)
	go func() { closed <- p.Close(50 * time.Millisecond) }()
	select {
	case got := <-closed:
		if want := (telemetry.Counts{Points: 2 * maxBatchPoints}); got != want {
			t.Errorf("counts %+v, want %+v", got, want)
		}
	case <-time.After(time.Minute):
		t.Fatal("Close did not come back")
	}
}

// syncBuffer is a buffer that a logger and a test share.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
