// Package watch says what is to be sampled in a run: the file that the runner writes for ncp-collect.
package watch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"time"

	"ncp-testbed/internal/linkmodel"
	"ncp-testbed/internal/timing"
)

// List is the whole file.
type List struct {
	Run           string            `json:"run"`
	Scenario      string            `json:"scenario"`
	IntervalMS    float64           `json:"interval_ms"`
	TCPIntervalMS float64           `json:"tcp_interval_ms"`
	Namespaces    map[string]string `json:"namespaces"` // path by host
	Interfaces    []Interface       `json:"interfaces"`
	Netem         []Netem           `json:"netem"`
	Sockets       []Socket          `json:"sockets"`
}

// Interface is an end of a link; the direction is that of its egress.
type Interface struct {
	Host      string              `json:"host"`
	Interface string              `json:"interface"`
	Link      string              `json:"link"`
	Direction linkmodel.Direction `json:"direction"`
}

// Netem is one direction of a link whose middle is the kernel's: the interfaces at whose egress it is.
type Netem struct {
	Host      string              `json:"host"`
	Link      string              `json:"link"`
	Direction linkmodel.Direction `json:"direction"`
	Delay     string              `json:"delay"`
	Queue     string              `json:"queue"` // "": its rate and queue are at the hosts
}

// Socket is one side of a flow.
type Socket struct {
	Host       string   `json:"host"`
	Protocol   string   `json:"protocol"` // udp or tcp
	Flow       string   `json:"flow"`
	Role       string   `json:"role"` // sender or receiver
	Session    string   `json:"session"`
	Connection string   `json:"connection"`
	Local      Endpoint `json:"local"`
	Remote     Endpoint `json:"remote"`
}

// Endpoint is an address with a port, of which either may be left open: "198.18.1.1:30001", "198.18.1.1:0" or
// "0.0.0.0:80".
type Endpoint struct{ netip.AddrPort }

// Matches reports whether a socket's own endpoint is one of those meant. A socket that is not connected has no
// remote one, and may still receive from the one that is meant.
func (e Endpoint) Matches(own netip.AddrPort) bool {
	address, port := e.Addr(), e.Port()
	return (!address.IsValid() || address.IsUnspecified() || own.Addr().IsUnspecified() || own.Addr() == address) &&
		(port == 0 || own.Port() == 0 || own.Port() == port)
}

// Interval is the time between two samples of anything but TCP_INFO.
func (l *List) Interval() time.Duration { return timing.Milliseconds(l.IntervalMS) }

// TCPInterval is the time between two samples of TCP_INFO.
func (l *List) TCPInterval() time.Duration { return timing.Milliseconds(l.TCPIntervalMS) }

// Read reads and checks a file. Errors name file, field and value.
func Read(file string) (*List, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	l, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return l, nil
}

// Parse reads the file's text.
func Parse(text []byte) (*List, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	l := new(List)
	if err := decoder.Decode(l); err != nil {
		return nil, fmt.Errorf("not the JSON it should be: %w", err)
	}
	return l, l.validate()
}

func (l *List) validate() error {
	for name, value := range map[string]string{"run": l.Run, "scenario": l.Scenario} {
		if value == "" {
			return fmt.Errorf("%s: empty, want a name", name)
		}
	}
	for name, value := range map[string]float64{"interval_ms": l.IntervalMS, "tcp_interval_ms": l.TCPIntervalMS} {
		if !(value >= 1 && value <= 60000) {
			return fmt.Errorf("%s: %v, want 1 to 60000 milliseconds", name, value)
		}
	}
	for i, v := range l.Interfaces {
		if err := l.validateEnd(fmt.Sprintf("interfaces[%d]", i), v.Host, v.Direction); err != nil {
			return err
		}
	}
	for i, v := range l.Netem {
		if err := l.validateEnd(fmt.Sprintf("netem[%d]", i), v.Host, v.Direction); err != nil {
			return err
		}
	}
	for i, v := range l.Sockets {
		if err := l.validateSocket(fmt.Sprintf("sockets[%d]", i), v); err != nil {
			return err
		}
	}
	return nil
}

func (l *List) validateEnd(where, host string, direction linkmodel.Direction) error {
	if _, ok := l.Namespaces[host]; !ok {
		return fmt.Errorf("%s.host: %q is not in namespaces", where, host)
	}
	if direction != linkmodel.AB && direction != linkmodel.BA {
		return fmt.Errorf("%s.direction: %q, want %s or %s", where, direction, linkmodel.AB, linkmodel.BA)
	}
	return nil
}

func (l *List) validateSocket(where string, v Socket) error {
	if _, ok := l.Namespaces[v.Host]; !ok {
		return fmt.Errorf("%s.host: %q is not in namespaces", where, v.Host)
	}
	if v.Protocol != "udp" && v.Protocol != "tcp" {
		return fmt.Errorf("%s.protocol: %q, want udp or tcp", where, v.Protocol)
	}
	if v.Role != "sender" && v.Role != "receiver" {
		return fmt.Errorf("%s.role: %q, want sender or receiver", where, v.Role)
	}
	if v.Flow == "" {
		return fmt.Errorf("%s.flow: empty, want a name", where)
	}
	return nil
}
