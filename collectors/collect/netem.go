package collect

import (
	"math"
	"time"

	"ncp-testbed/collectors/kernel"
	"ncp-testbed/collectors/watch"
	"ncp-testbed/link/model"
	"ncp-testbed/link/record"
	"ncp-testbed/telemetry"
)

// netem tells of one direction of a link whose middle is the kernel's, as the relay does of its own. What the
// kernel does not count is left out: the delay achieved, and lateness.
type netem struct {
	watched watch.Netem
	tags    telemetry.Tags
	before  record.State
	at      time.Time // of the state before, zero: there is none yet
}

func newNetem(w watch.Netem, run tags) *netem {
	return &netem{watched: w, tags: record.Tags(run["run"], run["scenario"], "netem", w.Link, w.Direction)}
}

// add adds a point for the time since the last one; the first only begins.
func (n *netem) add(p *telemetry.Points, names map[int]string, queues []kernel.Queue, at time.Time) {
	now, ok := n.state(names, queues)
	if !ok {
		return
	}
	if !n.at.IsZero() {
		record.Add(p, n.tags, &now, &n.before, at, at.Sub(n.at), record.NoLateness)
	}
	n.before, n.at = now, at
}

// state reads netem at the egress that delays, and before it, where the middle has them, the class with the rate
// and the queue. That one's drops are told; netem's are the loss that was asked for.
func (n *netem) state(names map[int]string, queues []kernel.Queue) (s record.State, ok bool) {
	s.DelayUncounted = true
	for _, q := range queues {
		switch name := names[q.Interface]; {
		case name == n.watched.Delay && q.Netem != nil:
			ok = true
			s.Properties.DelayMS, s.Properties.Loss = q.Netem.DelayMS, q.Netem.Loss
			s.Counts = model.Counts{In: q.Packets + q.Drops + q.BacklogPackets, Lost: q.Drops}
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
