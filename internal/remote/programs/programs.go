// Package programs runs programs at the hosts of a machine, as iperf3 beside the sessions, and keeps what they print with
// the time of each line.
package programs

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"ncp-testbed/internal/controlsocket"
	"ncp-testbed/internal/netns"
	"ncp-testbed/internal/timing"
)

// killAfter is how long a program may take to end after SIGTERM.
const killAfter = 5 * time.Second

// Programs are those of a run, by names that are its runner's.
type Programs struct {
	// Folder is where a program's output is: NAME.out, each line after the time at which it came (Unix nanoseconds) and
	// a blank, and NAME.err. It has its temporary files there, too.
	Folder string
	// Namespace is the path of a host's network namespace.
	Namespace func(host string) (string, bool)

	mu      sync.Mutex
	running map[string]*started
}

type started struct {
	command *exec.Cmd
	ended   chan struct{}
}

// Handle adds what a runner asks for to a control socket.
//
//	POST /program?name=N&host=H[&at_unix_ns=T]   start one, with its arguments as a JSON list, then or now
//	GET  /program?name=N                         whether it has ended, and with which code
//	POST /program/end?name=N                     end it
func (p *Programs) Handle(mux *http.ServeMux) {
	p.running = map[string]*started{}
	mux.HandleFunc("POST /program", controlsocket.Answered(p.start))
	mux.HandleFunc("GET /program", controlsocket.Answered(func(r *http.Request) (any, error) {
		one, err := p.named(r)
		if err != nil {
			return nil, err
		}
		select {
		case <-one.ended:
			return map[string]any{"ended": true, "code": one.command.ProcessState.ExitCode()}, nil
		default:
			return map[string]any{"ended": false}, nil
		}
	}))
	mux.HandleFunc("POST /program/end", controlsocket.Answered(func(r *http.Request) (any, error) {
		one, err := p.named(r)
		if err != nil {
			return nil, err
		}
		one.end()
		return map[string]any{}, nil
	}))
}

func (p *Programs) named(r *http.Request) (*started, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := r.URL.Query().Get("name")
	if one := p.running[name]; one != nil {
		return one, nil
	}
	return nil, controlsocket.Refused(controlsocket.CodeUnknown, "there is no program %q", name)
}

func (p *Programs) start(r *http.Request) (any, error) {
	name := r.URL.Query().Get("name")
	if name == "" || strings.ContainsAny(name, "/.") {
		return nil, controlsocket.Refused(controlsocket.CodeInvalid, "name %q: want one without slashes and points", name)
	}
	var arguments []string
	if err := json.NewDecoder(r.Body).Decode(&arguments); err != nil || len(arguments) == 0 {
		return nil, controlsocket.Refused(controlsocket.CodeInvalid, "want a program and its arguments as a list of texts")
	}
	at, err := controlsocket.At(r)
	if err != nil {
		return nil, err
	}
	namespace, ok := p.Namespace(r.URL.Query().Get("host"))
	if !ok {
		return nil, controlsocket.Refused(controlsocket.CodeUnknown, "host %q is not on this machine", r.URL.Query().Get("host"))
	}
	if err := controlsocket.SleepUntil(r.Context(), at); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running[name] != nil {
		return nil, controlsocket.Refused(controlsocket.CodeConflict, "program %s is there already", name)
	}
	one, err := p.run(name, namespace, arguments)
	if err != nil {
		return nil, err
	}
	p.running[name] = one
	return map[string]timing.Unix{"started_unix_ns": timing.Now()}, nil
}

func (p *Programs) run(name, namespace string, arguments []string) (*started, error) {
	if err := os.MkdirAll(p.Folder, 0o755); err != nil {
		return nil, err
	}
	out, err := create(p.Folder, name+".out")
	if err != nil {
		return nil, err
	}
	errs, err := create(p.Folder, name+".err")
	if err != nil {
		out.Close()
		return nil, err
	}
	one := &started{command: exec.Command(arguments[0], arguments[1:]...), ended: make(chan struct{})}
	one.command.Env = append(os.Environ(), "TMPDIR="+p.Folder)
	one.command.Stderr = errs
	printed, err := one.command.StdoutPipe()
	if err == nil {
		// It is forked by the thread that is in the namespace.
		err = netns.Within(namespace, one.command.Start)
	}
	if err != nil {
		out.Close()
		errs.Close()
		return nil, err
	}
	go func() {
		defer close(one.ended)
		defer errs.Close()
		defer out.Close()
		stamp(printed, out)
		_ = one.command.Wait() // its code is reported
	}()
	return one, nil
}

func create(folder, name string) (*os.File, error) {
	return os.OpenFile(filepath.Join(folder, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// stamp passes lines on, each after its time, to the end. What can't be written is lost, and the program goes on.
func stamp(from io.Reader, to io.Writer) {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			fmt.Fprintf(to, "%d %s\n", timing.Now(), strings.TrimSuffix(line, "\n"))
		}
		if err != nil {
			return
		}
	}
}

// end tells the program to end, and waits until it has.
func (s *started) end() {
	_ = s.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.ended:
	case <-time.After(killAfter):
		_ = s.command.Process.Kill()
		<-s.ended
	}
}
