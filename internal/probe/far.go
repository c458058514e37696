package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"

	"ncp-testbed/internal/controlsocket"
	"ncp-testbed/internal/plan"
)

// Machine is another machine with hosts of the run, at the Unix socket of whatever serves [Ends] there.
type Machine struct {
	Socket string
	// OffsetNS is what its clock is ahead of this one's.
	OffsetNS int64
}

// Ends are the ends of links at the hosts of this machine, for a probe that runs on another one.
type Ends struct {
	// Namespace is the path of a host's network namespace.
	Namespace func(host string) (string, bool)

	mu   sync.Mutex
	open map[string]*endpoint
}

// Handle adds what a probe asks for to a control socket.
func (e *Ends) Handle(mux *http.ServeMux) {
	e.open = map[string]*endpoint{}
	mux.HandleFunc("POST /probe/open", controlsocket.Answered(func(r *http.Request) (any, error) {
		var at plan.End
		if err := json.NewDecoder(r.Body).Decode(&at); err != nil {
			return nil, err
		}
		namespace, ok := e.Namespace(at.Host)
		if !ok {
			return nil, fmt.Errorf("host %s is not on this machine", at.Host)
		}
		opened, err := openEndpoint(at, namespace)
		if err != nil {
			return nil, err
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		if before := e.open[at.Interface]; before != nil {
			before.close()
		}
		e.open[at.Interface] = opened
		return nil, nil
	}))
	mux.HandleFunc("POST /probe/send", e.at(func(end *endpoint, r *http.Request) (any, error) {
		var b Batch
		if err := json.NewDecoder(r.Body).Decode(&b); err != nil {
			return nil, err
		}
		if b.PayloadBytes < packetBytes || b.Step >= steps {
			return nil, fmt.Errorf("step %d of packets with %d bytes", b.Step, b.PayloadBytes)
		}
		return end.send(r.Context(), b)
	}))
	mux.HandleFunc("GET /probe/arrivals", e.at(func(end *endpoint, r *http.Request) (any, error) {
		step, err := strconv.Atoi(r.URL.Query().Get("step"))
		if err != nil || step < 0 || step >= int(steps) {
			return nil, fmt.Errorf("step %q: there is none", r.URL.Query().Get("step"))
		}
		all := [][2]int64{}
		for _, a := range end.received(byte(step)) {
			all = append(all, [2]int64{int64(a.sequence), a.atNS})
		}
		return all, nil
	}))
	mux.HandleFunc("POST /probe/close", e.at(func(end *endpoint, r *http.Request) (any, error) {
		end.close()
		return nil, nil
	}))
}

// at answers about the end that the request names by its interface.
func (e *Ends) at(do func(*endpoint, *http.Request) (any, error)) http.HandlerFunc {
	return controlsocket.Answered(func(r *http.Request) (any, error) {
		name := r.URL.Query().Get("interface")
		e.mu.Lock()
		found := e.open[name]
		e.mu.Unlock()
		if found == nil {
			return nil, fmt.Errorf("interface %q is not open", name)
		}
		return do(found, r)
	})
}

// farEnd is an end of a link on another machine. What can't be asked there has not arrived.
type farEnd struct {
	machine Machine
	name    string
	client  *http.Client
}

func (m Machine) open(at plan.End) (*farEnd, error) {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", m.Socket)
	}}
	end := &farEnd{machine: m, name: at.Interface, client: &http.Client{Transport: transport}}
	if err := end.ask(context.Background(), "POST", "open", nil, at, nil); err != nil {
		return nil, fmt.Errorf("host %s, interface %s: %w", at.Host, at.Interface, err)
	}
	return end, nil
}

func (f *farEnd) send(ctx context.Context, b Batch) (Sent, error) {
	var sent Sent
	err := f.ask(ctx, "POST", "send", nil, b, &sent)
	for sequence := range sent.Stamps {
		sent.Stamps[sequence] -= f.machine.OffsetNS
	}
	return sent, err
}

func (f *farEnd) received(step byte) []arrival {
	var pairs [][2]int64
	query := url.Values{"step": {strconv.Itoa(int(step))}}
	if err := f.ask(context.Background(), "GET", "arrivals", query, nil, &pairs); err != nil {
		return nil
	}
	all := make([]arrival, 0, len(pairs))
	for _, p := range pairs {
		all = append(all, arrival{uint64(p[0]), p[1] - f.machine.OffsetNS})
	}
	return all
}

func (f *farEnd) receivedCount(step byte) int { return len(f.received(step)) }

func (f *farEnd) close() {
	_ = f.ask(context.Background(), "POST", "close", nil, nil, nil)
	f.client.CloseIdleConnections()
}

func (f *farEnd) ask(ctx context.Context, method, what string, query url.Values, body, answer any) error {
	if query == nil {
		query = url.Values{}
	}
	query.Set("interface", f.name)
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	asked, err := http.NewRequestWithContext(ctx, method, "http://far/probe/"+what+"?"+query.Encode(), bytes.NewReader(text))
	if err != nil {
		return err
	}
	said, err := f.client.Do(asked)
	if err != nil {
		return err
	}
	defer said.Body.Close()
	whole, err := io.ReadAll(said.Body)
	if err != nil {
		return err
	}
	if said.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", said.Status, bytes.TrimSpace(whole))
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(whole, answer)
}
