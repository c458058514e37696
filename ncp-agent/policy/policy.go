// Package policy holds the window policies of an NCP session: the rule by
// which each connection's send window starts, grows and shrinks. One file per
// policy; each registers itself and describes itself.
package policy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// MinWindow is the smallest window of a connection in packets: a connection
// never stops, it sends one packet and waits for its acknowledgement.
const MinWindow = 1

// Setup is what a session knows when its handshake is done.
type Setup struct {
	Connections          int
	SessionWindowPackets float64       // W: the session's send window in packets of its MTU
	Initial              []float64     // one window per connection in packets; nil: the policy's own
	AckInterval          time.Duration // between the peer's acknowledgements; 0: upstream's
}

const upstreamAckInterval = 50 * time.Millisecond

func (s Setup) ackInterval() time.Duration { return cmp.Or(s.AckInterval, upstreamAckInterval) }

// Ack says that a packet which a connection carried was acknowledged.
type Ack struct {
	// Resent: the packet timed out on this connection, and this connection
	// has not sent it again since.
	Resent bool
	// Own: the acknowledgement came in on this connection, so that RTT is its own.
	Own bool
	RTT time.Duration // since this connection first sent the packet

	// Only for policies with Recovery and Pacer, see there.
	At, SentAt time.Duration
	Mark       Mark
	Ambiguous  bool // this connection sent the packet more than once: no RTT
	Implied    bool // the packet arrived, its acknowledgement did not
}

// Policy keeps the send windows of one session's connections. Connections
// count from 0. A session calls Acked and TimedOut once per packet, and
// EndBatch after each processed acknowledgement packet and after each timeout
// pass of a connection that found something.
type Policy interface {
	// Window is the connection's send window in packets: it may send new data
	// while its packets in flight are fewer.
	Window(connection int) float64
	Acked(connection int, ack Ack)
	TimedOut(connection int)
	WriteError(connection int)
	EndBatch()
}

// Description says what a policy does, for people and for checks.
type Description struct {
	Name       string `json:"name"`
	CapPackets *int   `json:"cap_packets"` // largest window of a connection; null: none
	MinPackets int    `json:"min_packets"`
	Initial    string `json:"initial"` // the windows where a plan gives none
	Normalised bool   `json:"normalised"`
	Rule       string `json:"rule"` // one line
	Source     string `json:"source"`
}

type entry struct {
	description Description
	start       func(Setup) Policy
}

// registry lists the policies: this protocol's in the order of their history,
// then others' published schedulers.
var registry = []entry{previousEntry, nkp24Entry, deliveryRateEntry, minRTTEntry, blestEntry, ecfEntry}

// Add registers a policy of another module's, before a session starts.
func Add(description Description, start func(Setup) Policy) {
	registry = append(registry, entry{description, start})
}

// Describe returns every policy's description.
func Describe() []Description {
	list := make([]Description, len(registry))
	for i, e := range registry {
		list[i] = e.description
	}
	return list
}

// Print writes every policy's description as JSON.
func Print(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(Describe())
}

// Names returns every policy's name.
func Names() []string {
	names := make([]string, len(registry))
	for i, e := range registry {
		names[i] = e.description.Name
	}
	return names
}

// Known reports whether there is a policy of that name.
func Known(name string) bool { return slices.Contains(Names(), name) }

// Start makes the policy called name for a session whose handshake is done.
// It is an error if the name is unknown, or if Setup.Initial is given and has
// not one window of at least MinWindow for each connection.
func Start(name string, setup Setup) (Policy, error) {
	i := slices.Index(Names(), name)
	if i < 0 {
		return nil, fmt.Errorf("no window policy %q; there are %s", name, strings.Join(Names(), ", "))
	}
	if err := setup.validate(); err != nil {
		return nil, fmt.Errorf("policy %s: %w", name, err)
	}
	return registry[i].start(setup), nil
}

func (s Setup) validate() error {
	if s.Connections < 1 {
		return fmt.Errorf("%d connections, want at least 1", s.Connections)
	}
	if s.Initial == nil {
		return nil
	}
	if len(s.Initial) != s.Connections {
		return fmt.Errorf("%d initial windows for %d connections", len(s.Initial), s.Connections)
	}
	for i, w := range s.Initial {
		if !(w >= MinWindow) {
			return fmt.Errorf("initial window %d is %v packets, want at least %d", i+1, w, MinWindow)
		}
	}
	return nil
}

// windows returns the initial windows: the plan's, else start for each connection.
func (s Setup) windows(start float64) []float64 {
	if s.Initial != nil {
		return slices.Clone(s.Initial)
	}
	windows := make([]float64, s.Connections)
	for i := range windows {
		windows[i] = max(start, MinWindow)
	}
	return windows
}
