package push

import (
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"ncp-testbed/internal/telemetry"
)

// silence forwards connections to a server, except the first few: those it
// accepts and never answers.
type silence struct {
	net.Listener
	mu    sync.Mutex
	left  int
	mutes []net.Conn
}

func (s *silence) Accept() (net.Conn, error) {
	for {
		c, err := s.Listener.Accept()
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		mute := s.left > 0
		if mute {
			s.left--
			s.mutes = append(s.mutes, c)
		}
		s.mu.Unlock()
		if !mute {
			return c, nil
		}
	}
}

func (s *silence) muted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.mutes)
}

// startSilence puts the fake behind a listener that leaves its first n
// connections without an answer.
func startSilence(t *testing.T, n int) (*fakeInfluxDB, *silence) {
	t.Helper()
	f := startFake(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &silence{Listener: l, left: n}
	server := &http.Server{Handler: f}
	go server.Serve(s)
	t.Cleanup(func() {
		server.Close()
		for _, c := range s.mutes {
			c.Close()
		}
	})
	f.addr = l.Addr().String()
	return f, s
}

// While a write hangs, appending goes on as if there were no pusher, and the
// connection that hangs does not use up the time to drain.
func TestHungConnection(t *testing.T) {
	f, silent := startSilence(t, 1)
	s, path := newSpool(t)
	add(t, s, 0, 1)
	var log syncBuffer
	p := Start(f.config(), login, &log, path)
	eventually(t, "the write hangs", func() bool { return silent.muted() == 1 })
	for i := range 2000 {
		add(t, s, 1+i, 1)
	}
	if f.taken() != 0 {
		t.Fatal("the connection did not hang long enough for this test")
	}
	if got, want := p.Close(3*time.Second), (telemetry.Counts{Points: 2001, Pushed: 2001}); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
	if n := strings.Count(log.String(), "spool holds"); n != 1 {
		t.Errorf("log %q", log.String())
	}
}

// Without a close, a hung write is given up after its own time.
func TestHungWriteTimesOut(t *testing.T) {
	f, _ := startSilence(t, 1)
	s, path := newSpool(t)
	add(t, s, 0, 3)
	begun := time.Now()
	p := Start(f.config(), login, io.Discard, path)
	eventually(t, "the second connection", func() bool { return f.taken() == 3 })
	if waited := time.Since(begun); waited < requestTimeout {
		t.Errorf("gave up after %v, before %v", waited, requestTimeout)
	}
	p.Close(drain)
}

// A server that takes its time holds nobody up who appends.
func TestSlowServer(t *testing.T) {
	f := startFake(t)
	release := make(chan struct{})
	f.answers(func(lines []string) (int, string, int) {
		<-release
		return http.StatusNoContent, "", len(lines)
	})
	s, path := newSpool(t)
	add(t, s, 0, 1)
	p := Start(f.config(), login, io.Discard, path)
	for i := range 2000 {
		add(t, s, 1+i, 1)
	}
	if s.Points() != 2001 {
		t.Errorf("%d points spooled", s.Points())
	}
	close(release)
	if got, want := p.Close(drain), (telemetry.Counts{Points: 2001, Pushed: 2001}); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
}
