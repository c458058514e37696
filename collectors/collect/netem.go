package collect

import (
	"math"
	"time"

	"ncp-testbed/collectors/watch"
	"ncp-testbed/internal/linkmetrics"
	"ncp-testbed/internal/linkmodel"
	"ncp-testbed/internal/netstat"
	"ncp-testbed/internal/telemetry"
)

// netem reports one direction of a link whose middle is the kernel's, as the relay does of its own. What the
// kernel does not count is left out: the delay achieved, and lateness.
type netem struct {
	watched watch.Netem
	tags    telemetry.Tags
	before  linkmetrics.State
	at      time.Time // of the state before, zero: there is none yet
}

func newNetem(w watch.Netem, run tags) *netem {
	return &netem{watched: w, tags: linkmetrics.Tags(run["run"], run["scenario"], "netem", w.Link, w.Direction)}
}

// add adds a point for the time since the last one; the first only begins.
func (n *netem) add(p *telemetry.Points, names map[int]string, queues []netstat.Queue, at time.Time) {
	now, ok := n.state(names, queues)
	if !ok {
		return
	}
	if !n.at.IsZero() {
		linkmetrics.Add(p, n.tags, &now, &n.before, at, at.Sub(n.at), linkmetrics.NoLateness)
	}
	n.before, n.at = now, at
}

// state reads netem at the egress that delays, and before it, where the link emulator has them, the class with the
// rate and the queue. The drops of the class count; those of netem are the configured loss.
func (n *netem) state(names map[int]string, queues []netstat.Queue) (s linkmetrics.State, ok bool) {
	s.DelayUncounted = true
	for _, q := range queues {
		switch name := names[q.Interface]; {
		case name == n.watched.Delay && q.Netem != nil:
			ok = true
			s.Properties.DelayMS, s.Properties.Loss = q.Netem.DelayMS, q.Netem.Loss
			s.Counts = linkmodel.Counts{In: q.Packets + q.Drops + q.BacklogPackets, Lost: q.Drops}
			s.Sent, s.SentBytes = q.Packets, q.Bytes
			s.HeldBytes += int(q.BacklogBytes)
		case n.watched.Queue == "" || name != n.watched.Queue:
		case q.Root: // counts what its classes count
			s.HeldBytes += int(q.BacklogBytes)
			s.Drops = q.Drops
		case !math.IsNaN(q.RateBPS):
			s.Properties.RateBPS = q.RateBPS
		}
	}
	return s, ok
}
