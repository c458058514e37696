package collect

import (
	"ncp-testbed/collectors/watch"
	"ncp-testbed/internal/netstat"
	"ncp-testbed/internal/telemetry"
)

// flow is a watched one with the sockets that it has in a sample.
type flow struct {
	watched watch.Socket
	slots   slots
	own     []*netstat.Socket
	tags    [maxSlots]socketTags // by slot, from 0
}

// socketTags are those of a socket's points, good for one congestion control (empty where it was not requested).
type socketTags struct {
	congestionControl string
	made              telemetry.Tags
	known             bool
}

// ports are those of a flow, 0 where any will do.
type ports struct{ local, remote uint16 }

// flows are those of one protocol at a host. They are found by a socket's ports: among a thousand connections
// a thousand sockets are not compared with each.
type flows struct {
	all     []*flow // in the order of the list
	byPorts map[ports][]*flow
}

func (f *flows) add(watched *flow) {
	if f.byPorts == nil {
		f.byPorts = map[ports][]*flow{}
	}
	w := watched.watched
	at := ports{w.Local.Port(), w.Remote.Port()}
	f.all, f.byPorts[at] = append(f.all, watched), append(f.byPorts[at], watched)
}

// take gives a socket to the flows that it is one of.
func (f *flows) take(s *netstat.Socket) {
	local, remote := s.Local.Port(), s.Remote.Port()
	if local == 0 || remote == 0 { // not bound or not connected: it may be of a flow with any
		give(f.all, s)
		return
	}
	for _, at := range [...]ports{{local, remote}, {local, 0}, {0, remote}, {}} {
		give(f.byPorts[at], s)
	}
}

func give(some []*flow, s *netstat.Socket) {
	for _, f := range some {
		if f.watched.Local.Matches(s.Local) && f.watched.Remote.Matches(s.Remote) {
			f.own = append(f.own, s)
		}
	}
}
