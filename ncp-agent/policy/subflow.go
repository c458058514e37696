package policy

import (
	"slices"
	"time"

	"ncp-testbed/internal/cubic"
	"ncp-testbed/internal/rtt"
	"ncp-testbed/internal/timing"
)

const initialWindow = 10 // packets (RFC 6928)

// subflow is a connection as MPTCP keeps its own: a window of its own (slow
// start, then CUBIC, RFC 9438), and TCP's retransmission timer (RFC 6298).
// Published schedulers choose among such.
type subflow struct {
	cubic.Sender
	cutAt time.Duration // the window was last cut for a loss

	delivered       uint64
	roundEnds       uint64 // the delivered count that ends the round
	maxInFlight     int    // in this round trip
	lastMaxInFlight int    // in the one before

	rtt.Estimator[float64]
	batch     float64 // seconds, sum of the RTTs of the batch
	samples   int
	acked     int // in the batch
	at        time.Duration
	roundOver bool

	silent int // timeouts in a row
}

// room reports whether its window lets it send.
func (f *subflow) room(inFlight int) bool { return inFlight < int(f.Packets) }

// endBatch takes the RTT of an acknowledgement packet, the mean of what it
// acknowledges, and lets the window grow.
func (f *subflow) endBatch() {
	if f.samples > 0 {
		f.Add(f.batch/float64(f.samples), 1)
	}
	f.grow()
	f.batch, f.samples, f.acked, f.roundOver = 0, 0, 0, false
}

// grow follows Linux in leaving alone a window that is not used (RFC 7661).
func (f *subflow) grow() {
	used := max(f.maxInFlight, f.lastMaxInFlight)
	if f.SlowStart() {
		if f.Packets < 2*float64(used) {
			f.Acked(float64(f.acked))
		}
	} else if f.roundOver && used >= int(f.Packets) {
		f.EndRound(f.at, f.SRTT)
	}
	if f.roundOver {
		f.maxInFlight, f.lastMaxInFlight = 0, f.maxInFlight
	}
}

// cut is for a loss: once per round trip.
func (f *subflow) cut(now time.Duration) {
	if f.cutAt > 0 && now < f.cutAt+timing.Seconds(f.SRTT) {
		return
	}
	f.cutAt = now
	f.Lost(now)
}

func (f *subflow) onTimeout(now time.Duration) {
	f.TimedOut(now, f.silent == 0, MinWindow)
	f.silent++
}

// subflows is the state that MPTCP's schedulers share: a session's connections. Each scheduler embeds it.
type subflows struct {
	timer   rtt.Timeout
	flows   []*subflow
	touched []int // subflows with an unfinished batch
}

func newSubflows(s Setup) subflows {
	all := subflows{timer: mptcpRTO(s.ackInterval())}
	for _, w := range s.windows(initialWindow) {
		all.flows = append(all.flows, &subflow{Sender: cubic.NewSender(w)})
	}
	return all
}

func (s *subflows) Window(c int) float64 { return s.flows[c].Packets }

func (s *subflows) Acked(c int, ack Ack) {
	f := s.flows[c]
	if !ack.Own && !ack.Implied {
		return
	}
	f.silent = 0
	f.delivered++
	f.at = ack.At
	f.acked++
	if ack.Own && !ack.Ambiguous {
		f.batch += ack.RTT.Seconds()
		f.samples++
		if ack.Mark.Delivered >= f.roundEnds {
			f.roundEnds, f.roundOver = f.delivered+1, true
		}
	}
	if !slices.Contains(s.touched, c) {
		s.touched = append(s.touched, c)
	}
}

func (s *subflows) EndBatch() {
	for _, c := range s.touched {
		s.flows[c].endBatch()
	}
	s.touched = s.touched[:0]
}

// TimedOut is never called: this policy has Recovery.
func (s *subflows) TimedOut(int) {}

// WriteError changes nothing: the session pauses the connection.
func (s *subflows) WriteError(int) {}

func (s *subflows) SendAt(c int, now time.Duration, inFlight int) time.Duration {
	if s.flows[c].room(inFlight) {
		return now
	}
	return timing.Never
}

func (s *subflows) Sent(c int, _ time.Duration, inFlight int, _ bool) Mark {
	f := s.flows[c]
	f.maxInFlight = max(f.maxInFlight, inFlight)
	return Mark{Delivered: f.delivered}
}

func (s *subflows) RTO(c int) time.Duration {
	return s.timer.After(s.flows[c].Estimator, s.flows[c].silent)
}

// Reordering is TCP's three later packets (RFC 5681, 3.2).
func (s *subflows) Reordering(int) (uint64, time.Duration) { return reorderPackets, 0 }

func (s *subflows) Lost(c int, now time.Duration, _ int)     { s.flows[c].cut(now) }
func (s *subflows) OnTimeout(c int, now time.Duration)       { s.flows[c].onTimeout(now) }
func (s *subflows) OnSpuriousLoss(c int, _, _ time.Duration) { s.flows[c].silent = 0 }
func (s *subflows) Probing(c int) bool                       { return s.flows[c].silent > 0 }

// available reports whether a connection could take a segment now.
func (s *subflows) available(c int, m Moment) bool {
	return s.answers(c, m) && m.Open[c] && s.flows[c].room(m.InFlight[c])
}

// answers reports whether a connection is one to reckon with.
func (s *subflows) answers(c int, m Moment) bool { return m.Usable[c] && s.flows[c].silent == 0 }

// first reports whether no other connection that is available has a shorter
// RTT: the choice of MPTCP's default scheduler.
func (s *subflows) first(c int, m Moment) bool {
	for i, f := range s.flows {
		if f.SRTT < s.flows[c].SRTT && s.available(i, m) {
			return false
		}
	}
	return true
}

// fastest is the connection with the shortest RTT, available or not; c itself
// among equals, and where its own is not known. A TCP knows them from its
// handshake; here a connection is unknown until its first answer.
func (s *subflows) fastest(c int, m Moment) int {
	best := c
	for i, f := range s.flows {
		if f.SRTT > 0 && f.SRTT < s.flows[best].SRTT && s.answers(i, m) {
			best = i
		}
	}
	return best
}
