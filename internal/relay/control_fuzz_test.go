package relay

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ncp-testbed/internal/linkmodel"
	"ncp-testbed/internal/timing"
)

// withoutInterfaces is a relay of one link, whose loop runs and forwards nothing: its ring stays empty.
func withoutInterfaces(f *testing.F) *Relay {
	l, err := newLoop(f.Logf)
	if err != nil {
		f.Fatal(err)
	}
	frames, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		f.Fatal(err)
	}
	l.receiver = &receiver{fd: frames, ring: make([]byte, ringFrames*slotHeaderBytes), slot: slotHeaderBytes}
	if l.waiter, err = newWaiter(l.monotonicBase, l.clock.now, frames); err != nil {
		f.Fatal(err)
	}
	l.sender = &sender{}
	r := &Relay{loop: l}
	for i, name := range linkmodel.Directions {
		l.directions = append(l.directions, &direction{
			index: i, link: "k", name: name, to: &net.Interface{Name: "lo"}, lateness: &histogram{},
		})
		l.next, r.samples = append(l.next, timing.Never), append(r.samples, Sample{Lateness: &histogram{}})
	}
	return r
}

// renew gives all directions properties that a plan may have.
func (r *Relay) renew() {
	for _, d := range r.loop.directions {
		p := linkmodel.Properties{RateBPS: 8e6, DelayMS: 50}
		d.model = linkmodel.NewPipe(p, 1, d.link, d.name, r.loop.clock.now(), linkmodel.Hooks[int32]{
			Drop: func(int32, linkmodel.Cause) {}, Copy: func(int32) (int32, bool) { return -1, false },
		})
	}
	r.loop.changed()
}

// Whatever is asked for, the answer is JSON; what is refused changes nothing, and after what is done the state can
// still be told.
func FuzzControl(f *testing.F) {
	f.Add("k", "both", "", `{"delay_ms": 10, "loss": 0.5}`)
	f.Add("k", "ab", "1", `{"rate_bps": 1e308, "queue": {"mode": "codel", "packets": 2}}`)
	f.Add("x", "up", "-1", `{"trace_file": "../none", "jitter_file": 7}`)
	f.Add("k", "ba", "1e3", "null")
	r := withoutInterfaces(f)
	r.renew()
	m := NewMeter(r, "r", "s", nil)
	control := Control(r, m, f.TempDir())
	ended := make(chan error, 1)
	go func() { // Run would ask for real-time priority, for all of the fuzzer
		runtime.LockOSThread()
		ended <- r.loop.run()
	}()
	f.Cleanup(func() {
		r.Stop()
		if err := <-ended; err != nil {
			f.Error(err)
		}
		r.loop.waiter.close()
		_ = unix.Close(r.loop.receiver.fd)
	})
	properties := func() (found []linkmodel.Properties) {
		r.loop.do(func() {
			for _, d := range r.loop.directions {
				found = append(found, d.model.Properties())
			}
		})
		return found
	}
	f.Fuzz(func(t *testing.T, link, direction, at, body string) {
		if ns, err := strconv.ParseInt(at, 10, 64); err == nil && ns > time.Now().UnixNano() {
			return // answered then
		}
		r.loop.do(r.renew)
		before := properties()
		query := url.Values{"link": {link}, "direction": {direction}, "at_unix_ns": {at}}
		told := httptest.NewRecorder()
		control.ServeHTTP(told, httptest.NewRequest(http.MethodPost, "/set?"+query.Encode(), strings.NewReader(body)))
		var answer struct {
			Code    string `json:"code"`
			Message string `json:"message"`
			Applied int64  `json:"applied_unix_ns"`
		}
		if err := json.Unmarshal(told.Body.Bytes(), &answer); err != nil {
			t.Fatalf("%s: %v", told.Body, err)
		}
		switch after := properties(); told.Code {
		case http.StatusOK:
			if answer.Applied <= 0 {
				t.Fatalf("done, and answered with %s", told.Body)
			}
		case http.StatusBadRequest, http.StatusNotFound:
			if answer.Code == "" || answer.Message == "" || !reflect.DeepEqual(before, after) {
				t.Fatalf("refused with %q, and %+v became %+v", answer.Message, before, after)
			}
		default:
			t.Fatalf("%d %s", told.Code, told.Body)
		}
		r.loop.do(func() { r.sample() })
		copy(m.last, r.samples)
		told = httptest.NewRecorder()
		control.ServeHTTP(told, httptest.NewRequest(http.MethodGet, "/state", nil))
		var state struct{ Links []LinkResult }
		if err := json.Unmarshal(told.Body.Bytes(), &state); err != nil || len(state.Links) != len(before) {
			t.Fatalf("after %s the state is %q (%v)", body, told.Body, err)
		}
	})
}
