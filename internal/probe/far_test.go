package probe

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ncp-testbed/internal/controlsocket"
	"ncp-testbed/internal/linkmodel"
	"ncp-testbed/internal/plan"
)

// farDirection is one whose receiver is on another machine, of which the socket is what serves.
func farDirection(t *testing.T, serves http.Handler) (*direction, func()) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "far.sock")
	server, err := controlsocket.Serve(socket, serves)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	machine := Machine{Socket: socket, AnswerTime: 100 * time.Millisecond}
	end, err := machine.open(plan.End{Host: "h2", Interface: "h2-eth1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(end.close)
	local, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { local.Close() })
	d := &direction{
		link: &plan.Link{Name: "k"}, middle: &linkmodel.Properties{}, from: &endpoint{conn: local}, to: end,
		destination: local.LocalAddr().(*net.UDPAddr).AddrPort(),
	}
	return d, func() { server.Close() }
}

// A machine that no longer answers is an error, and not a link that loses everything.
func TestADeadControlConnectionIsNoDeadLink(t *testing.T) {
	opens := func(w http.ResponseWriter, _ *http.Request) { controlsocket.Answer(w, nil) }
	hangs := http.NewServeMux()
	hangs.HandleFunc("/probe/open", opens)
	hangs.HandleFunc("/probe/close", opens)
	hangs.HandleFunc("/probe/", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	for name, kills := range map[string]bool{"gone": true, "silent": false} {
		t.Run(name, func(t *testing.T) {
			d, kill := farDirection(t, hangs)
			if kills {
				kill()
			}
			err := d.hello(context.Background())
			if err == nil || !strings.Contains(err.Error(), "host h2, interface h2-eth1") {
				t.Errorf("%v, want an error with the end's name", err)
			}
			if m, err := d.measurement(); err == nil {
				t.Errorf("%+v, want an error", m)
			}
		})
	}
}

// However many ends a machine has that no longer answers, it is waited for once.
func TestASilentMachineIsWaitedForOnce(t *testing.T) {
	silent := http.NewServeMux()
	silent.HandleFunc("/probe/open", func(w http.ResponseWriter, _ *http.Request) { controlsocket.Answer(w, nil) })
	silent.HandleFunc("/probe/", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	socket := filepath.Join(t.TempDir(), "far.sock")
	server, err := controlsocket.Serve(socket, silent)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	far := Machine{Socket: socket, AnswerTime: time.Second}
	p := &plan.Plan{}
	for range 10 {
		p.Links = append(p.Links, plan.Link{A: plan.End{Host: "h1", Address: "198.18.0.1"}, B: plan.End{Host: "h2", Address: "198.18.0.2"}})
	}
	begun := time.Now()
	if _, err := Run(t.Context(), p, Options{Far: map[string]Machine{"h1": far, "h2": far}}); err == nil {
		t.Error("a machine that does not answer was measured")
	}
	if took := time.Since(begun); took > 10*far.AnswerTime {
		t.Errorf("it took %v with answers after %v", took, far.AnswerTime)
	}
}

// An end whose socket can't be read from any more is an error, too.
func TestASocketThatFailsIsNoDeadLink(t *testing.T) {
	local, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	if err := local.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	e := &endpoint{conn: local}
	e.receive()
	d := &direction{
		link: &plan.Link{Name: "k"}, middle: &linkmodel.Properties{}, from: e, to: e, frameBytes: 1000,
		destination: local.LocalAddr().(*net.UDPAddr).AddrPort(),
	}
	if err := d.hello(t.Context()); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%v, want the socket's error", err)
	}
	if m, err := d.measurement(); err == nil {
		t.Errorf("%+v, want an error", m)
	}
}

// Waiting for packets asks for their number, and not for all of them each time.
func TestArrivalsAreCountedThere(t *testing.T) {
	mux := http.NewServeMux()
	downloads := 0
	mux.HandleFunc("/probe/open", func(w http.ResponseWriter, _ *http.Request) { controlsocket.Answer(w, nil) })
	mux.HandleFunc("/probe/count", func(w http.ResponseWriter, _ *http.Request) { controlsocket.Answer(w, 3) })
	mux.HandleFunc("/probe/arrivals", func(w http.ResponseWriter, _ *http.Request) {
		downloads++
		controlsocket.Answer(w, [][2]int64{{1, 5}, {2, 6}, {3, 7}})
	})
	d, _ := farDirection(t, mux)
	d.sent[stepHello] = 3
	if err := d.hello(t.Context()); err != nil || downloads > 0 {
		t.Errorf("%v, %d downloads", err, downloads)
	}
}
