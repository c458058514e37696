package relay_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"ncp-testbed/internal/relay"
	"ncp-testbed/internal/test/testnet"
)

func (r *running) post(t *testing.T, path, body string) (int, string) {
	t.Helper()
	answer, err := http.Post(r.control.URL+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

func TestLiveControl(t *testing.T) {
	r := start(t, testnet.Link{Name: "k", Plan: map[string]any{"delay_ms": 40}})
	delay := func() float64 {
		found := r.probe(t, 0.1)
		if found[0].DelayMS == nil {
			t.Fatal("no delay found")
		}
		return *found[0].DelayMS
	}
	code, text := r.post(t, "/set?link=k&direction=ab", `{"delay_ms": 10}`)
	if code != 200 || !strings.Contains(text, "applied_unix_ns") {
		t.Fatalf("%d %s", code, text)
	}
	if ms := delay(); ms < 9.999 || ms > 15 {
		t.Errorf("delay %v ms after it was set to 10", ms)
	}
	for _, bad := range []struct {
		path, body string
		code       int
		want       string
	}{
		{"/set?link=k&direction=ab", `{"dely_ms": 1}`, 400, "dely_ms"},
		{"/set?link=x&direction=ab", `{"delay_ms": 1}`, 404, "link:"},
		{"/set?link=k&direction=up", `{"delay_ms": 1}`, 400, "direction:"},
		{"/set?link=k&direction=ab", `{"loss": 7}`, 400, "loss: 7"},
		{"/set?link=k&direction=ab&at_unix_ns=soon", `{"loss": 0}`, 400, "at_unix_ns:"},
		{"/set?link=k&direction=ab&at_unix_ns=-1", `{"loss": 0}`, 400, "at_unix_ns:"},
		{"/set?link=k&direction=ab&at_unix_ns=9000000000000000000", `{"loss": 0}`, 400, "at_unix_ns:"},
	} {
		if code, text := r.post(t, bad.path, bad.body); code != bad.code || !strings.Contains(text, bad.want) {
			t.Errorf("%s %s: %d %s, want %d and %q", bad.path, bad.body, code, text, bad.code, bad.want)
		}
	}
}

// Who has gone is not waited for.
func TestAChangesClientHasGone(t *testing.T) {
	r := start(t, testnet.Link{Name: "k"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	at := time.Now().Add(1900 * time.Millisecond)
	path := fmt.Sprintf("/set?link=k&direction=ab&at_unix_ns=%d", at.UnixNano())
	answer := httptest.NewRecorder()
	relay.Control(r.relay, r.meter, r.Dir).ServeHTTP(answer, httptest.NewRequestWithContext(ctx, "POST", path, strings.NewReader(`{"loss": 0}`)))
	if answer.Code != http.StatusConflict || !time.Now().Before(at) {
		t.Errorf("%d %s, %v after its time", answer.Code, answer.Body, time.Since(at))
	}
}

// A break of 200 ms, asked for ahead, must lose what is sent in it and nothing else, by the frame.
func TestChangeFallsBetweenFrames(t *testing.T) {
	r := start(t, testnet.Link{Name: "k", Plan: map[string]any{"delay_ms": 5}})
	from, to := r.udpPair(t, 1)
	begin := time.Now().Add(200 * time.Millisecond)
	end := begin.Add(200 * time.Millisecond)
	var asked sync.WaitGroup
	for loss, at := range []time.Time{end, begin} { // each is answered when it is done
		asked.Go(func() {
			path := fmt.Sprintf("/set?link=k&direction=both&at_unix_ns=%d", at.UnixNano())
			if code, text := r.post(t, path, fmt.Sprintf(`{"loss": %d}`, loss)); code != 200 || time.Now().Before(at) {
				t.Errorf("%d %s, %v early", code, text, time.Until(at))
			}
		})
	}
	before, after := map[int]time.Time{}, map[int]time.Time{}
	i := 0
	for ; time.Now().Before(end.Add(100 * time.Millisecond)); i++ {
		before[i] = time.Now()
		if _, err := from.WriteToUDP(packet(i, 100), to.LocalAddr().(*net.UDPAddr)); err != nil {
			t.Fatal(err)
		}
		after[i] = time.Now()
		time.Sleep(200 * time.Microsecond)
	}
	arrived := map[int]bool{}
	buffer := make([]byte, 2000)
	for {
		_ = to.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
		n, err := to.Read(buffer)
		if err != nil {
			break
		}
		arrived[number(buffer[:n])] = true
	}
	for n := range i {
		outside := after[n].Before(begin) || before[n].After(end)
		inside := before[n].After(begin) && after[n].Before(end)
		if outside && !arrived[n] || inside && arrived[n] {
			t.Errorf("packet %d, sent %v after the break began: arrived %v", n, before[n].Sub(begin), arrived[n])
		}
	}
	asked.Wait()
	changes := r.relay.Changes()
	if len(changes) != 4 {
		t.Fatalf("%d changes, want 2 for either direction", len(changes))
	}
	for _, c := range changes {
		if c.AppliedUnixNS < c.AtUnixNS {
			t.Errorf("asked for %d, applied at %d", c.AtUnixNS, c.AppliedUnixNS)
		}
	}
}

// A link that is down loses what is sent meanwhile, and works again afterwards, whichever end it was.
func TestPulledPlug(t *testing.T) {
	for _, device := range []string{"l1a", "l1b", "h2-eth1"} {
		t.Run(device, func(t *testing.T) {
			r := start(t, testnet.Link{Name: "k", Plan: map[string]any{"delay_ms": 20}})
			namespace := r.Fabric
			if device == "h2-eth1" {
				namespace = r.Hosts["h2"]
			}
			from, to := r.udpPair(t, 1)
			sent := 0
			send := func(packets int) {
				for range packets {
					_, _ = from.WriteToUDP(packet(sent, 100), to.LocalAddr().(*net.UDPAddr)) // refused while h1 has no carrier
					sent++
					time.Sleep(time.Millisecond)
				}
			}
			send(20)
			r.In(t, namespace, "ip", "link", "set", device, "down")
			send(50)
			r.In(t, namespace, "ip", "link", "set", device, "up")
			if device == "h2-eth1" { // the kernel forgets them with the interface
				r.In(t, namespace, "ip", "neigh", "replace", testnet.Address(1, 1), "lladdr", "02:00:00:00:01:01",
					"dev", device, "nud", "permanent")
			}
			time.Sleep(50 * time.Millisecond)
			again := sent
			send(50)
			arrived := map[int]bool{}
			buffer := make([]byte, 2000)
			for {
				_ = to.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
				n, err := to.Read(buffer)
				if err != nil {
					break
				}
				arrived[number(buffer[:n])] = true
			}
			missing := 0
			for n := again; n < sent; n++ {
				if !arrived[n] {
					missing++
				}
			}
			if missing > 0 || len(arrived) == sent {
				t.Errorf("of %d packets %d arrived; %d are missing of the last 50", sent, len(arrived), missing)
			}
			r.stop()
			r.result(t, "k", "ab") // nothing dropped unasked
		})
	}
}
