// Command mine is the testbed's agent with a window policy of its own, which sends in any scenario (docs/program.md):
//
//	CGO_ENABLED=0 go build -o codes/mine/mine ./codes/mine
//	./run.sh startup --code ./codes/mine/mine --set policy=mine --engine vkernel
package main

import (
	"os"

	"ncp-testbed/ncp-agent/agent"
	"ncp-testbed/ncp-agent/policy"
)

func main() {
	policy.Add(policy.Description{
		Name: "mine", MinPackets: policy.MinWindow,
		Rule: "NKP-0024's, to begin with", Source: "codes/mine",
	}, start)
	os.Exit(agent.Main(os.Args[1:]))
}

// rule has a window in packets for each connection of a session, from 0.
type rule struct {
	windows []float64
	total   float64 // what the session may send
}

// start is called at each end when the handshake is done.
func start(s policy.Setup) policy.Policy {
	windows := s.Initial // the scenario's initial_windows
	if windows == nil {
		windows = make([]float64, s.Connections)
		for c := range windows {
			windows[c] = s.SessionWindowPackets / float64(s.Connections)
		}
	}
	return &rule{windows, s.SessionWindowPackets}
}

// Window is asked for before each packet: a connection sends while fewer are in flight.
func (r *rule) Window(c int) float64 { return r.windows[c] }

// Acked is called for each packet that is acknowledged.
func (r *rule) Acked(c int, ack policy.Ack) {
	if !ack.Resent {
		r.windows[c]++
	}
}

// TimedOut is called for each packet that is lost.
func (r *rule) TimedOut(c int) { r.windows[c] = max(policy.MinWindow, r.windows[c]/2) }

// WriteError is called where a socket takes no packet.
func (r *rule) WriteError(c int) { r.TimedOut(c) }

// EndBatch is called after each acknowledgement packet, and after the timeouts that were found at once: the windows'
// sum is the session's window again.
func (r *rule) EndBatch() {
	sum := 0.0
	for _, w := range r.windows {
		sum += w
	}
	for c, w := range r.windows {
		r.windows[c] = max(policy.MinWindow, r.total*w/sum)
	}
}
