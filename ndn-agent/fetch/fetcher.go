// Package fetch gets an object's segments with a congestion window. It has no
// I/O and no clock, and is called by one goroutine at a time.
package fetch

import (
	"math/rand/v2"
	"time"

	"ncp-testbed/ndn-agent/lp"
	"ncp-testbed/ndn-agent/packet"
	"ncp-testbed/ndn-agent/tlv"
)

// Arrival is one segment's.
type Arrival struct {
	At            time.Duration // since the start
	Segment       uint64
	RTT           time.Duration // 0: of a retransmitted segment, so nobody can tell
	Cwnd          float64
	Marked        bool
	Retransmitted bool
}

// Stats are a fetch's numbers so far.
type Stats struct {
	Segments        uint64
	Bytes           uint64
	Retransmissions uint64
	Timeouts        uint64
	Nacks           uint64
	Marks           uint64
	Cuts            uint64
	Duplicates      uint64
	Refused         uint64 // Data whose digest is wrong, or that is none of the object's
	Unchecked       uint64 // segments whose signature is of a kind that is not checked
	InFlight        int
	Cwnd, MaxCwnd   float64
	Threshold       float64 // of slow start
	RTO             time.Duration
}

// Fetcher gets one object.
type Fetcher struct {
	// Observe is called with each segment as it arrives; may be nil.
	Observe func(Arrival)

	config  Config
	send    func(lp.Packet)
	deliver func(content []byte) error // in order
	random  *rand.Rand
	wire    []byte

	started     time.Duration
	discovering bool
	base        packet.Name // of the segments
	window      window
	timer       timer
	stats       Stats

	next         uint64 // the lowest segment that was never requested
	delivered    uint64 // segments below it are delivered
	waiting      map[uint64][]byte
	waitingBytes int
	final        uint64
	hasFinal     bool
	requests     map[uint64]*request
	order        []sent   // as they were sent, what is answered included
	retransmit   []uint64 // to be requested once more
	recovery     uint64   // a segment below it stands for a cut that was made
	backedOff    time.Duration
	roundEnds    uint64 // the round trip ends when this segment or one after it arrives
	done         bool
	err          error
}

// request is a segment that is not there yet.
type request struct {
	at       time.Duration
	inFlight bool // else it waits to be requested again
	retries  int
	lastNack uint64
}

// sent is a request as it was.
type sent struct {
	segment uint64
	at      time.Duration
}

// New makes a fetcher. Send takes Interests, which are good until it returns;
// deliver takes the content in order.
func New(c Config, send func(lp.Packet), deliver func(content []byte) error) *Fetcher {
	f := &Fetcher{
		config: c, send: send, deliver: deliver, random: rand.New(rand.NewPCG(c.Seed, 1)),
		discovering: c.Discover, base: c.Name, timer: newTimer(c.RTOMin),
		waiting: map[uint64][]byte{}, requests: map[uint64]*request{},
	}
	if c.Algorithm == Cubic {
		f.window = newCubic(c.InitialCwnd)
	} else {
		f.window = newAIMD(c.InitialCwnd, c.AIMDStep, c.AIMDBeta)
	}
	return f
}

// Start sends the first Interest.
func (f *Fetcher) Start(now time.Duration) {
	f.started = now
	f.fill(now)
}

// Done reports whether the fetch has ended, and why where it failed.
func (f *Fetcher) Done() (bool, error) { return f.done, f.err }

// Stats returns the numbers so far.
func (f *Fetcher) Stats() Stats {
	s := f.stats
	s.InFlight = f.inFlight()
	s.Cwnd, s.Threshold, s.RTO = f.window.size(), f.window.threshold(), f.timer.rto
	return s
}

func (f *Fetcher) inFlight() int { return len(f.requests) - len(f.retransmit) }

// fill sends what the window has room for, lost segments first.
func (f *Fetcher) fill(now time.Duration) {
	for !f.done && f.inFlight() < max(1, int(f.window.size())) {
		if len(f.retransmit) > 0 {
			segment := f.retransmit[0]
			f.retransmit = f.retransmit[1:]
			f.ask(now, segment, f.requests[segment])
			continue
		}
		if f.hasFinal && f.next > f.final || f.next-f.delivered >= maxAhead || f.waitingBytes > maxWaitingBytes ||
			f.discovering && f.next > 0 {
			return
		}
		r := &request{}
		f.requests[f.next] = r
		f.ask(now, f.next, r)
		f.next++
	}
}

func (f *Fetcher) ask(now time.Duration, segment uint64, r *request) {
	r.at, r.inFlight = now, true
	f.order = append(f.order, sent{segment, now})
	i := packet.Interest{Nonce: f.random.Uint32(), Lifetime: f.config.Lifetime, HopLimit: -1}
	if f.discovering {
		i.Name, i.CanBePrefix, i.MustBeFresh = f.base, true, true
	} else {
		i.Name = f.base.AppendNumber(packet.ComponentSegment, segment)
	}
	f.wire = i.Append(f.wire[:0])
	f.send(lp.Packet{Network: f.wire})
}

// Receive takes what came. A packet of another object is counted.
func (f *Fetcher) Receive(now time.Duration, p lp.Packet) {
	if f.done {
		return
	}
	kind, _, err := tlv.Number(p.Network)
	switch {
	case err != nil:
	case p.IsNack:
		f.refused(p)
	case kind == packet.TypeData:
		f.arrived(now, p)
	}
	f.fill(now)
}

func (f *Fetcher) arrived(now time.Duration, p lp.Packet) {
	d, err := packet.DecodeData(p.Network)
	if err != nil || f.discovering && !f.discover(d.Name) {
		f.stats.Refused++
		return
	}
	segment, ok := f.segmentOf(d.Name)
	intact, checked := d.Intact()
	if !ok || checked && !intact {
		f.stats.Refused++
		return
	}
	r := f.requests[segment]
	if r == nil {
		f.rediscovered(now, segment)
		f.stats.Duplicates++
		return
	}
	if !checked {
		f.stats.Unchecked++
	}
	if d.FinalBlock != nil {
		f.finish(*d.FinalBlock)
	}
	if f.hasFinal && segment > f.final {
		f.stats.Refused++
		return
	}
	f.account(now, segment, r, p.Mark != 0, len(d.Content))
	f.store(segment, d.Content)
}

// account moves timer and window, and counts.
func (f *Fetcher) account(now time.Duration, segment uint64, r *request, marked bool, bytes int) {
	a := Arrival{At: now - f.started, Segment: segment, Marked: marked, Retransmitted: r.retries > 0}
	if r.retries == 0 {
		a.RTT = max(now-r.at, 1)
		f.timer.sample(a.RTT, (f.inFlight()+1)/2)
	}
	if !r.inFlight {
		f.drop(segment)
	}
	delete(f.requests, segment)
	f.stats.Segments++
	f.stats.Bytes += uint64(bytes)
	if marked {
		f.stats.Marks++
	}
	if marked && !f.config.IgnoreMarks {
		f.cut(now, segment)
	} else {
		f.window.arrived(now, f.timer.SRTT)
	}
	if segment >= f.roundEnds {
		f.roundEnds = f.next
		f.window.round(now, f.timer.SRTT)
	}
	f.stats.MaxCwnd = max(f.stats.MaxCwnd, f.window.size())
	a.Cwnd = f.window.size()
	if f.Observe != nil {
		f.Observe(a)
	}
}

func (f *Fetcher) fail(err error) { f.done, f.err = true, err }
