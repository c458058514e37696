package probe

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"ncp-testbed/internal/controlsocket"
	"ncp-testbed/internal/plan"
	"ncp-testbed/internal/timing"
)

// Machine is another machine with hosts of the run, at the Unix socket of whatever serves [Ends] there.
type Machine struct {
	Socket string
	// Offset is what its clock is ahead of this one's.
	Offset time.Duration
	// AnswerTime is how long it may take for an answer; 0: 10 s.
	AnswerTime time.Duration
}

// Ends are the ends of links at the hosts of this machine, for a probe that runs on another one.
type Ends struct {
	// Namespace is the path of a host's network namespace.
	Namespace func(host string) (string, bool)

	mu   sync.Mutex
	open map[string]*endpoint
}

// Handle adds a probe's requests to a control socket.
func (e *Ends) Handle(mux *http.ServeMux) {
	e.open = map[string]*endpoint{}
	mux.HandleFunc("POST /probe/open", controlsocket.Answered(func(r *http.Request) (any, error) {
		var at plan.End
		if err := controlsocket.Decode(r, &at); err != nil {
			return nil, err
		}
		namespace, ok := e.Namespace(at.Host)
		if !ok {
			return nil, controlsocket.Refused(controlsocket.CodeUnknown, "host %s is not on this machine", at.Host)
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
		if err := controlsocket.Decode(r, &b); err != nil {
			return nil, err
		}
		if b.PayloadBytes < packetBytes || b.Step >= steps {
			return nil, controlsocket.Refused(controlsocket.CodeInvalid, "step %d of packets with %d bytes", b.Step, b.PayloadBytes)
		}
		return end.send(r.Context(), b)
	}))
	mux.HandleFunc("GET /probe/arrivals", e.at(func(end *endpoint, r *http.Request) (any, error) {
		step, err := stepOf(r)
		if err != nil {
			return nil, err
		}
		arrivals, err := end.received(step)
		all := make([][2]int64, 0, len(arrivals))
		for _, a := range arrivals {
			all = append(all, [2]int64{int64(a.sequence), int64(a.at)})
		}
		return all, err
	}))
	mux.HandleFunc("GET /probe/count", e.at(func(end *endpoint, r *http.Request) (any, error) {
		step, err := stepOf(r)
		if err != nil {
			return nil, err
		}
		return end.receivedCount(step)
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
			return nil, controlsocket.Refused(controlsocket.CodeUnknown, "interface %q is not open", name)
		}
		return do(found, r)
	})
}

func stepOf(r *http.Request) (byte, error) {
	text := r.URL.Query().Get("step")
	step, err := strconv.Atoi(text)
	if err != nil || step < 0 || step >= int(steps) {
		return 0, controlsocket.Refused(controlsocket.CodeUnknown, "step %q: there is none", text)
	}
	return byte(step), nil
}

// answerTime is how long the other machine may take for an answer. A batch has its own time, see [direction.send].
const answerTime = 10 * time.Second

// farEnd is an end of a link on another machine. Where that does not answer, nothing can be said of the link.
type farEnd struct {
	machine Machine
	at      plan.End
	client  *controlsocket.Client
}

func (m Machine) open(at plan.End) (*farEnd, error) {
	end := &farEnd{machine: m, at: at, client: controlsocket.NewClient(m.Socket)}
	return end, end.request("POST", "open", nil, at, nil)
}

func (f *farEnd) send(ctx context.Context, b Batch) (Sent, error) {
	var sent Sent
	err := f.do(ctx, "POST", "send", nil, b, &sent)
	for sequence := range sent.Stamps {
		sent.Stamps[sequence] = sent.Stamps[sequence].Add(-f.machine.Offset)
	}
	return sent, err
}

func (f *farEnd) received(step byte) ([]arrival, error) {
	var pairs [][2]int64
	err := f.request("GET", "arrivals", url.Values{"step": {strconv.Itoa(int(step))}}, nil, &pairs)
	all := make([]arrival, 0, len(pairs))
	for _, p := range pairs {
		at := timing.Unix(p[1])
		if at != 0 {
			at = at.Add(-f.machine.Offset)
		}
		all = append(all, arrival{uint64(p[0]), at})
	}
	return all, err
}

func (f *farEnd) receivedCount(step byte) (count int, err error) {
	err = f.request("GET", "count", url.Values{"step": {strconv.Itoa(int(step))}}, nil, &count)
	return count, err
}

func (f *farEnd) close() {
	_ = f.request("POST", "close", nil, nil, nil)
	f.client.Close()
}

func (f *farEnd) request(method, what string, query url.Values, body, answer any) error {
	ctx, cancel := context.WithTimeout(context.Background(), f.answerTime())
	defer cancel()
	return f.do(ctx, method, what, query, body, answer)
}

func (f *farEnd) answerTime() time.Duration { return cmp.Or(f.machine.AnswerTime, answerTime) }

func (f *farEnd) do(ctx context.Context, method, what string, query url.Values, body, answer any) error {
	if query == nil {
		query = url.Values{}
	}
	query.Set("interface", f.at.Interface)
	if err := f.client.Do(ctx, method, "/probe/"+what+"?"+query.Encode(), body, answer); err != nil {
		return fmt.Errorf("host %s, interface %s, on another machine: %w", f.at.Host, f.at.Interface, err)
	}
	return nil
}
