// Package fetch gets an object's segments with a congestion window. It has no
// I/O and no clock, and is called by one goroutine at a time.
package fetch

import (
	"fmt"
	"math/rand/v2"
	"time"

	"ncp-testbed/ndn-agent/lp"
	"ncp-testbed/ndn-agent/packet"
	"ncp-testbed/ndn-agent/tlv"
)

// The algorithms.
const (
	AIMD  = "aimd"
	Cubic = "cubic"
)

// maxAhead bounds how many segments beyond the first missing one are asked
// for, and so what waits in memory behind a gap.
const maxAhead = 8192

// maxWaitingBytes bounds the same, whatever size the segments have.
const maxWaitingBytes = 128 << 20

// Config is how an object is fetched.
type Config struct {
	Name        packet.Name
	Discover    bool // Name may lack the version: learn the segments' names from the first answer
	Algorithm   string
	IgnoreMarks bool
	RTOMin      time.Duration
	InitialCwnd float64 // segments
	AIMDStep    float64
	AIMDBeta    float64
	MaxRetries  int // of one segment
	Lifetime    time.Duration
	Seed        uint64 // of nonces
}

// Default gives the parameters of ndncatchunks' AIMD: an RTO of at least
// 200 ms, a window of 1 that grows by 1 and is halved.
func Default(name packet.Name) Config {
	return Config{
		Name: name, Algorithm: AIMD, RTOMin: 200 * time.Millisecond, InitialCwnd: 1, AIMDStep: 1, AIMDBeta: 0.5,
		MaxRetries: 15, Lifetime: packet.DefaultLifetime,
	}
}

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
	// Observe is told of each segment as it arrives; may be nil.
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

	next         uint64 // the lowest segment that was never asked for
	delivered    uint64 // segments below it are delivered
	waiting      map[uint64][]byte
	waitingBytes int
	final        uint64
	hasFinal     bool
	asked        map[uint64]*request
	order        []sent   // as they were sent, what is answered included
	again        []uint64 // to be asked for once more
	recovery     uint64   // a segment below it stands for a cut that was made
	backedOff    time.Duration
	roundEnds    uint64 // the round trip ends when this segment or one after it arrives
	done         bool
	err          error
}

// request is a segment that is not there yet.
type request struct {
	at       time.Duration
	flies    bool // else it waits to be asked for again
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
		waiting: map[uint64][]byte{}, asked: map[uint64]*request{},
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

// Done tells whether the fetch has ended, and why where it failed.
func (f *Fetcher) Done() (bool, error) { return f.done, f.err }

// Stats gives the numbers so far.
func (f *Fetcher) Stats() Stats {
	s := f.stats
	s.InFlight = f.flying()
	s.Cwnd, s.Threshold, s.RTO = f.window.size(), f.window.threshold(), f.timer.rto
	return s
}

func (f *Fetcher) flying() int { return len(f.asked) - len(f.again) }

// fill sends what the window has room for, lost segments first.
func (f *Fetcher) fill(now time.Duration) {
	for !f.done && f.flying() < max(1, int(f.window.size())) {
		if len(f.again) > 0 {
			segment := f.again[0]
			f.again = f.again[1:]
			f.ask(now, segment, f.asked[segment])
			continue
		}
		if f.hasFinal && f.next > f.final || f.next-f.delivered >= maxAhead || f.waitingBytes > maxWaitingBytes ||
			f.discovering && f.next > 0 {
			return
		}
		r := &request{}
		f.asked[f.next] = r
		f.ask(now, f.next, r)
		f.next++
	}
}

func (f *Fetcher) ask(now time.Duration, segment uint64, r *request) {
	r.at, r.flies = now, true
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

// Receive takes what came. What is none of this fetch's is counted.
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

// refused notes a Nack. The segment is asked for again when its time is over,
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
	if r := f.asked[segment]; ok && r != nil {
		f.stats.Nacks++
		r.lastNack = p.Nack
	}
}

// segmentOf gives the number of a segment of the object.
func (f *Fetcher) segmentOf(name packet.Name) (uint64, bool) {
	if !name.HasPrefix(f.base) {
		return 0, false
	}
	c, rest, ok := name[len(f.base):].First()
	if !ok || rest != "" {
		return 0, false
	}
	return c.Number(packet.ComponentSegment)
}

// discover learns the segments' names from the first Data.
func (f *Fetcher) discover(name packet.Name) bool {
	last, parent, ok := name.Last()
	if _, numbered := last.Number(packet.ComponentSegment); !ok || !numbered || !name.HasPrefix(f.base) {
		return false
	}
	f.discovering, f.base = false, parent
	return true
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
	r := f.asked[segment]
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

// rediscovered is for an answer to the discovery that is another segment than
// the first: that one is asked for by its name now.
func (f *Fetcher) rediscovered(now time.Duration, segment uint64) {
	if r := f.asked[0]; r != nil && r.flies && segment != 0 && f.stats.Segments == 0 && len(f.asked) == 1 && f.config.Discover && r.retries == 0 {
		r.retries++
		f.ask(now, 0, r)
	}
}

// finish learns how many segments there are; those beyond are no longer wanted.
func (f *Fetcher) finish(last packet.Component) {
	final, ok := last.Number(packet.ComponentSegment)
	if !ok || f.hasFinal || final < f.delivered {
		return
	}
	f.final, f.hasFinal = final, true
	for segment := range f.asked {
		if segment > final {
			delete(f.asked, segment)
		}
	}
	kept := f.again[:0]
	for _, segment := range f.again {
		if segment <= final {
			kept = append(kept, segment)
		}
	}
	f.again = kept
	for segment, content := range f.waiting {
		if segment > final {
			f.waitingBytes -= len(content)
			delete(f.waiting, segment)
		}
	}
}

// account moves timer and window, and counts.
func (f *Fetcher) account(now time.Duration, segment uint64, r *request, marked bool, bytes int) {
	a := Arrival{At: now - f.started, Segment: segment, Marked: marked, Retransmitted: r.retries > 0}
	if r.retries == 0 {
		a.RTT = max(now-r.at, 1)
		f.timer.sample(a.RTT, (f.flying()+1)/2)
	}
	if !r.flies {
		f.drop(segment)
	}
	delete(f.asked, segment)
	f.stats.Segments++
	f.stats.Bytes += uint64(bytes)
	if marked {
		f.stats.Marks++
	}
	if marked && !f.config.IgnoreMarks {
		f.cut(now, segment)
	} else {
		f.window.arrived(now, f.timer.srtt)
	}
	if segment >= f.roundEnds {
		f.roundEnds = f.next
		f.window.round(now, f.timer.srtt)
	}
	f.stats.MaxCwnd = max(f.stats.MaxCwnd, f.window.size())
	a.Cwnd = f.window.size()
	if f.Observe != nil {
		f.Observe(a)
	}
}

// drop takes a segment out of those to be asked for again.
func (f *Fetcher) drop(segment uint64) {
	for i, s := range f.again {
		if s == segment {
			f.again = append(f.again[:i], f.again[i+1:]...)
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

// store delivers what is in order and keeps the rest.
func (f *Fetcher) store(segment uint64, content []byte) {
	if segment != f.delivered {
		f.waiting[segment] = append([]byte(nil), content...)
		f.waitingBytes += len(content)
		return
	}
	for ok := true; ok; content, ok = f.waiting[f.delivered] {
		if f.delivered != segment {
			delete(f.waiting, f.delivered)
			f.waitingBytes -= len(content)
		}
		if err := f.deliver(content); err != nil {
			f.fail(err)
			return
		}
		f.delivered++
	}
	if f.hasFinal && f.delivered > f.final {
		f.done = true
	}
}

func (f *Fetcher) fail(err error) { f.done, f.err = true, err }

// Expire takes segments whose time is over as lost. The queue is in the order
// of sending, and the time-out is one for all.
func (f *Fetcher) Expire(now time.Duration) {
	for !f.done && len(f.order) > 0 {
		first := f.order[0]
		r := f.asked[first.segment]
		current := r != nil && r.flies && r.at == first.at
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
	r.flies = false
	f.again = append(f.again, segment)
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
	return fmt.Errorf("%s did not come, asked for %d times%s", name, r.retries+1, why)
}
