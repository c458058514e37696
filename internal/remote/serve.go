// Package remote serves the runner of a run on a machine with some of its hosts, on a Unix socket: it makes ends of
// links, reads counters, samples, probes, and sends files as they grow.
//
//	POST /middles        make the sides of middles on this machine that are wired to others (netconf.Middles).
//	POST /hosts          make the ends of links and the routes of hosts (netconf.Host by the host's name).
//	GET  /queues         counters of all queues at the hosts.
//	GET  /read           a file of the run's folder, from an offset on.
//	POST /collect        start sampling; POST /collect/end: stop, and what each collector did and cost.
//	POST /measure        the way to another machine, by some packets (measurement).
//	POST /watch          the same without end, into a file of the run's folder; POST /watch/end: stop.
//	POST /change         a live end of a link (netconf.Change), at a time: ?host=H&at_unix_ns=N; without a host, of a middle.
//	     /program        see programs.Programs.
//	     /probe/…        see probe.Ends.
package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"strconv"
	"sync"

	"ncp-testbed/internal/controlsocket"
	"ncp-testbed/internal/netconf"
	"ncp-testbed/internal/netstat"
	"ncp-testbed/internal/probe"
	"ncp-testbed/internal/remote/programs"
	"ncp-testbed/internal/timing"
)

// readBytes is the most that one GET /read answers with.
const readBytes = 1 << 20

// Machine is this one.
type Machine struct {
	folder string

	mu sync.Mutex
	// namespaces of the hosts are held open: a host's agents may end before its counters are read.
	namespaces map[string]*os.File
	middles    *os.File // that of the middles which are here, or nil
	ends       probe.Ends
	programs   programs.Programs

	collector      Collector
	stopCollecting context.CancelFunc
	collected      chan outcome
	watches        []watched
}

type outcome struct {
	results any
	err     error
}

// A Collector reads what is to be sampled (JSON) and returns what samples it into spools in a directory until its
// context ends, with results for the one who asks.
type Collector func(list []byte) (collect func(ctx context.Context, directory string) (any, error), err error)

// New has its files in a folder.
func New(folder string, collector Collector) *Machine {
	m := &Machine{folder: folder, collector: collector, namespaces: map[string]*os.File{}}
	m.ends.Namespace = m.namespace
	m.programs = programs.Programs{Folder: folder + "/programs", Namespace: m.namespace}
	return m
}

// namespace is the path of a host's.
func (m *Machine) namespace(host string) (string, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	held, ok := m.namespaces[host]
	if !ok {
		return "", false
	}
	return path(held), true
}

// Handler answers the runner.
func (m *Machine) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /middles", controlsocket.Answered(m.setUpMiddles))
	mux.HandleFunc("POST /hosts", controlsocket.Answered(m.setUp))
	mux.HandleFunc("GET /queues", controlsocket.Answered(m.queues))
	mux.HandleFunc("POST /collect", controlsocket.Answered(m.collect))
	mux.HandleFunc("POST /collect/end", controlsocket.Answered(m.endCollecting))
	mux.HandleFunc("POST /measure", controlsocket.Answered(m.measure))
	mux.HandleFunc("POST /watch", controlsocket.Answered(m.watch))
	mux.HandleFunc("POST /watch/end", controlsocket.Answered(m.endWatches))
	mux.HandleFunc("GET /read", m.read)
	mux.HandleFunc("POST /change", controlsocket.Answered(m.change))
	m.ends.Handle(mux)
	m.programs.Handle(mux)
	return mux
}

// path of a namespace that is held open.
func path(held *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", held.Fd()) }

func (m *Machine) setUpMiddles(r *http.Request) (any, error) {
	var request netconf.Middles
	if err := controlsocket.Decode(r, &request); err != nil {
		return nil, err
	}
	if err := netconf.SetUpMiddles(request); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var err error
	m.middles, err = hold(m.middles, request.PID)
	return map[string]any{}, err
}

// hold returns the network namespace of a process, open. One that is held already stays, as it may be in use.
func hold(held *os.File, pid int) (*os.File, error) {
	found, err := os.Open(netconf.Namespace(pid))
	if err != nil || held == nil {
		return cmp.Or(held, found), err
	}
	defer found.Close()
	before, unread := held.Stat()
	now, err := found.Stat()
	if err = errors.Join(err, unread); err == nil && !os.SameFile(before, now) {
		err = controlsocket.Refused(controlsocket.CodeConflict, "process %d is in another network namespace than the one before it", pid)
	}
	return held, err
}

func (m *Machine) setUp(r *http.Request) (any, error) {
	request := map[string]netconf.Host{}
	if err := controlsocket.Decode(r, &request); err != nil {
		return nil, err
	}
	for name, h := range request {
		if err := netconf.SetUp(h); err != nil {
			return nil, fmt.Errorf("host %s: %w", name, err)
		}
		if err := m.holdHost(name, h.PID); err != nil {
			return nil, fmt.Errorf("host %s: %w", name, err)
		}
	}
	return map[string]any{}, nil
}

func (m *Machine) holdHost(name string, pid int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	held, err := hold(m.namespaces[name], pid)
	if err == nil {
		m.namespaces[name] = held
	}
	return err
}

func (m *Machine) change(r *http.Request) (any, error) {
	var request netconf.Change
	if err := controlsocket.Decode(r, &request); err != nil {
		return nil, err
	}
	at, err := controlsocket.At(r)
	if err != nil {
		return nil, err
	}
	host := r.URL.Query().Get("host")
	namespace, ok := m.namespace(host)
	if host == "" {
		m.mu.Lock()
		if m.middles != nil {
			namespace, ok = path(m.middles), true
		}
		m.mu.Unlock()
	}
	if !ok {
		return nil, controlsocket.Refused(controlsocket.CodeUnknown, "host %q is not on this machine", host)
	}
	done, err := request.Make(namespace, host == "", func() error { return controlsocket.SleepUntil(r.Context(), at) })
	if err != nil {
		return nil, err
	}
	return map[string]timing.Unix{"applied_unix_ns": timing.Of(done)}, nil
}

// A queue as tc tells of it in JSON.
type queue struct {
	Host    string `json:"host"`
	Dev     string `json:"dev"`
	Kind    string `json:"kind"`
	Handle  string `json:"handle"`
	Root    bool   `json:"root,omitempty"`
	Parent  string `json:"parent,omitempty"`
	Bytes   uint64 `json:"bytes"`
	Packets uint64 `json:"packets"`
	Drops   uint64 `json:"drops"`
}

func (m *Machine) queues(*http.Request) (any, error) {
	m.mu.Lock()
	namespaces := maps.Clone(m.namespaces) // others are answered while they are read
	m.mu.Unlock()
	all := []queue{}
	for name, held := range namespaces {
		found, err := queuesOf(name, path(held))
		if err != nil {
			return nil, fmt.Errorf("host %s: %w", name, err)
		}
		all = append(all, found...)
	}
	return all, nil
}

func queuesOf(host, path string) ([]queue, error) {
	namespace, err := netstat.Route(path)
	if err != nil {
		return nil, err
	}
	defer namespace.Close()
	interfaces, err := namespace.Interfaces()
	if err != nil {
		return nil, err
	}
	names := map[int]string{}
	for _, i := range interfaces {
		names[i.Index] = i.Name
	}
	found, err := namespace.Queues()
	if err != nil {
		return nil, err
	}
	var all []queue
	for _, q := range found {
		if names[q.Interface] == "lo" || q.Handle[len(q.Handle)-1] != ':' { // a class counts in its discipline
			continue
		}
		one := queue{
			Host: host, Dev: names[q.Interface], Kind: q.Kind, Handle: q.Handle, Root: q.Root,
			Bytes: q.Bytes, Packets: q.Packets, Drops: q.Drops,
		}
		if !q.Root {
			one.Parent = "1:1"
		}
		all = append(all, one)
	}
	return all, nil
}

func (m *Machine) collect(r *http.Request) (any, error) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	collect, err := m.collector(text)
	if err != nil {
		return nil, controlsocket.Refused(controlsocket.CodeInvalid, "%w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.collected != nil {
		return nil, controlsocket.Refused(controlsocket.CodeConflict, "samples are being taken already")
	}
	directory := m.folder + "/collected"
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	m.stopCollecting, m.collected = stop, make(chan outcome, 1)
	go func() {
		results, err := collect(ctx, directory)
		m.collected <- outcome{results, err}
	}()
	return map[string]any{}, nil
}

func (m *Machine) endCollecting(*http.Request) (any, error) {
	m.mu.Lock()
	stop, collected := m.stopCollecting, m.collected
	m.stopCollecting = nil
	m.mu.Unlock()
	if stop == nil {
		return nil, controlsocket.Refused(controlsocket.CodeConflict, "no samples are being taken")
	}
	stop()
	done := <-collected // others are answered meanwhile
	m.mu.Lock()
	m.collected = nil
	m.mu.Unlock()
	return map[string]any{"collectors": done.results}, done.err
}

// read answers with the bytes of a file from an offset on; of one that is not there yet, with none.
func (m *Machine) read(w http.ResponseWriter, r *http.Request) {
	from, err := strconv.ParseInt(r.URL.Query().Get("from"), 10, 64)
	if err != nil || from < 0 {
		controlsocket.Refuse(w, controlsocket.Refused(controlsocket.CodeInvalid, "from: want a number of bytes"))
		return
	}
	root, err := os.OpenRoot(m.folder)
	if err != nil {
		controlsocket.Refuse(w, err)
		return
	}
	defer root.Close()
	file, err := root.Open(r.URL.Query().Get("file"))
	if os.IsNotExist(err) {
		return
	}
	if err != nil {
		controlsocket.Refuse(w, controlsocket.Refused(controlsocket.CodeInvalid, "file: %w", err))
		return
	}
	defer file.Close()
	_, _ = io.Copy(w, io.NewSectionReader(file, from, readBytes))
}
