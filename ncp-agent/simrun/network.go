package simrun

import (
	"fmt"
	"path/filepath"

	"ncp-testbed/internal/linkmodel"
	"ncp-testbed/internal/plan"
	"ncp-testbed/internal/timing"
	"ncp-testbed/ncp-agent/config"
	"ncp-testbed/ncp-agent/metrics"
	"ncp-testbed/ncp-agent/sim"
)

// headerBytes is what Ethernet, IPv4 and UDP add to an NCP packet: what the
// plan's frame_bytes counts beside it.
const headerBytes = 14 + 20 + 8

// tcpHeaderBytes is what TCP adds to a packet of the usual size: a length of
// four bytes, and a part of the 66 bytes of headers with timestamps in front of
// each full segment of 1448.
const tcpHeaderBytes = 4 + 47

// links returns the plan's links as a simulation takes them: what the hosts shape
// and what the middle does are one model here. A queue pushes back on a host
// that sends, and drops what a relay node passes on: that node's own egress.
func links(p *plan.Plan, all []sim.Transfer) []sim.Link {
	beyond := map[string][2]bool{} // ab, ba: a path comes here from another link
	for _, t := range all {
		for _, path := range t.Paths {
			for i, name := range path {
				b := beyond[name]
				b[0] = b[0] || i > 0
				b[1] = b[1] || i < len(path)-1
				beyond[name] = b
			}
		}
	}
	var list []sim.Link
	for i := range p.Links {
		l := &p.Links[i]
		both := [2]linkmodel.Properties{l.EndToEnd(0), l.EndToEnd(1)}
		for direction := range both {
			if q := &both[direction].Queue; q.Mode == linkmodel.QueueBackPressure && beyond[l.Name][direction] {
				q.Mode = linkmodel.QueueDropTail
			}
		}
		list = append(list, sim.Link{Name: l.Name, Seed: l.Seed, AB: both[0], BA: both[1]})
	}
	return list
}

// transfers returns the plan's sessions.
func transfers(all []*config.Plan) []sim.Transfer {
	var list []sim.Transfer
	for _, p := range all {
		s := &p.Session
		t := sim.Transfer{
			Name: s.Name, Sender: s.Config(metrics.Sender), Receiver: s.Config(metrics.Receiver), Bytes: s.TransferBytes,
			Start: timing.Seconds(s.StartS), ReceiveBufferPackets: config.PausedReaderPackets,
		}
		if s.Transport == config.TCP {
			// Over links that keep every packet, TCP is a queue that has room
			// for what a paused reader leaves: its buffers grow.
			t.ReceiveBufferPackets = 0
		}
		for _, c := range s.Connections {
			t.Paths = append(t.Paths, c.Path)
		}
		list = append(list, t)
	}
	return list
}

// events returns the timeline as a simulation takes it; the first session's
// connections are those that an action can name.
func events(p *plan.Plan) ([]sim.Event, error) {
	var list []sim.Event
	for i := range p.Timeline {
		a := &p.Timeline[i]
		e := sim.Event{At: timing.Seconds(a.AtS), Link: a.Link, Direction: a.Direction}
		switch a.Kind {
		case "set":
			c, err := a.Properties.Resolve(filepath.Dir(p.Path))
			if err != nil {
				return nil, fmt.Errorf("%s: timeline[%d].properties.%w", p.Path, i, err)
			}
			if err := a.Direction.Validate(); err != nil {
				return nil, fmt.Errorf("%s: timeline[%d].%w", p.Path, i, err)
			}
			e.Set = &c
		case "carrier":
			e.Up = &a.Up
		case "pause_read":
			e = sim.Event{At: e.At, Transfer: p.Sessions[0].Name, Connection: a.Connection - 1, PauseRead: timing.Seconds(a.ForS)}
		default:
			return nil, fmt.Errorf("%s: timeline[%d].kind: %q, want set, carrier or pause_read", p.Path, i, a.Kind)
		}
		list = append(list, e)
	}
	return list, nil
}

// overhead is what the network adds to each packet.
func overhead(all []*config.Plan) int {
	for _, p := range all {
		if p.Session.Transport == config.UDP {
			return headerBytes
		}
	}
	return tcpHeaderBytes
}
