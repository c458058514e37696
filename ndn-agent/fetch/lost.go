package fetch

import (
	"fmt"
	"time"

	"ncp-testbed/ndn-agent/lp"
	"ncp-testbed/ndn-agent/packet"
)

// refused notes a Nack. The segment is requested again when its time is over,
// as if the Interest had been lost.
func (f *Fetcher) refused(p lp.Packet) {
	i, err := packet.DecodeInterest(p.Network)
	if err != nil {
		f.stats.Refused++
		return
	}
	segment, ok := f.segmentOf(i.Name)
	if f.discovering && i.Name == f.base {
		segment, ok = 0, true
	}
	if r := f.requests[segment]; ok && r != nil {
		f.stats.Nacks++
		r.lastNack = p.Nack
	}
}

// Expire takes segments whose time is over as lost. The queue is in the order
// of sending, and the time-out is one for all.
func (f *Fetcher) Expire(now time.Duration) {
	for !f.done && len(f.order) > 0 {
		first := f.order[0]
		r := f.requests[first.segment]
		current := r != nil && r.inFlight && r.at == first.at
		if current && now-first.at < f.timer.rto {
			break
		}
		f.order = f.order[1:]
		if current {
			f.timedOut(now, first.segment, r)
		}
	}
	f.fill(now)
}

func (f *Fetcher) timedOut(now time.Duration, segment uint64, r *request) {
	f.stats.Timeouts++
	if r.retries >= f.config.MaxRetries {
		f.fail(f.lost(segment, r))
		return
	}
	r.retries++
	r.inFlight = false
	f.retransmit = append(f.retransmit, segment)
	f.stats.Retransmissions++
	f.cut(now, segment)
	if now >= f.backedOff+f.timer.rto { // once for all that were lost together
		f.backedOff = now
		f.timer.backOff()
	}
}

// lost says which segment never came.
func (f *Fetcher) lost(segment uint64, r *request) error {
	name := f.base
	if !f.discovering {
		name = name.AppendNumber(packet.ComponentSegment, segment)
	}
	why := ""
	switch r.lastNack {
	case lp.NackNone:
	case lp.NackNoRoute:
		why = "; the next hop has no route to it"
	default:
		why = fmt.Sprintf("; the next hop refused it for reason %d", r.lastNack)
	}
	return fmt.Errorf("%s did not come, requested %d times%s", name, r.retries+1, why)
}

// drop takes a segment out of those to request again.
func (f *Fetcher) drop(segment uint64) {
	for i, s := range f.retransmit {
		if s == segment {
			f.retransmit = append(f.retransmit[:i], f.retransmit[i+1:]...)
			return
		}
	}
}

// cut is for a sign of congestion at a segment: one cut per round trip, so
// segments that were under way at the last one are no sign of another.
func (f *Fetcher) cut(now time.Duration, segment uint64) {
	if segment < f.recovery {
		return
	}
	f.recovery = f.next
	f.stats.Cuts++
	f.window.cut(now)
}
