package policy

import (
	"time"

	"ncp-testbed/internal/timing"
)

var deliveryRateEntry = entry{
	description: Description{
		Name: "delivery-rate", MinPackets: MinWindow, Normalised: true,
		Initial: "W/n packets each, until the connections' rates are measured",
		Rule:    "W shared in proportion to measured delivery rates; each connection paced at its rate, corrected by the queue that its RTT shows, in flight bounded by rate × RTT",
		Source:  "this project",
	},
	start: newDeliveryRate,
}

const (
	reorderPackets = 3                     // RFC 5681's three duplicate acknowledgements
	runTime        = 16 * time.Millisecond // that a connection takes segments in a row for
	maxRunPackets  = 256
	doubtfulLoss   = 0.005 // share of a connection's packets
)

// deliveryRate shares W in proportion to what the connections are measured to
// deliver, and sends on each at that rate.
type deliveryRate struct {
	paths   []*path
	total   float64 // W
	touched []int   // paths with an unfinished batch
	rates   rates
	added   bool // rates is up to date
}

// rates is what all paths together deliver.
type rates struct {
	sum     float64 // with the average for those that are not measured yet; 0: none is
	average float64
}

func newDeliveryRate(s Setup) Policy {
	p := &deliveryRate{total: s.SessionWindowPackets}
	each := s.SessionWindowPackets / float64(s.Connections)
	for _, w := range s.windows(each) {
		p.paths = append(p.paths, newPath(w, int(min(max(each, minStartPackets), startPackets)), s.ackInterval()))
	}
	return p
}

// Window is the connection's share of W by delivery rate. It reports; how much
// a connection has in flight follows from its path.
func (p *deliveryRate) Window(c int) float64 {
	if !p.added {
		p.rates, p.added = p.addRates(), true
	}
	if p.rates.sum == 0 {
		return p.paths[c].initial
	}
	rate := p.rates.average
	if p.paths[c].measured() {
		rate = p.paths[c].usable()
	}
	return max(MinWindow, p.total*rate/p.rates.sum)
}

func (p *deliveryRate) addRates() (all rates) {
	known := 0
	for _, q := range p.paths {
		if q.measured() {
			all.sum += q.usable()
			known++
		}
	}
	if all.sum > 0 {
		all.average = all.sum / float64(known)
		all.sum += all.average * float64(len(p.paths)-known)
	}
	return all
}

func (p *deliveryRate) Acked(c int, ack Ack) {
	if p.paths[c].acked(ack) {
		p.touched = append(p.touched, c)
	}
}

func (p *deliveryRate) EndBatch() {
	for _, c := range p.touched {
		p.paths[c].endBatch()
		p.added = false
	}
	p.touched = p.touched[:0]
}

// TimedOut is never called: this policy has Recovery.
func (p *deliveryRate) TimedOut(int) {}

// WriteError changes nothing: the session pauses the connection, and the
// path's rate is what it was.
func (p *deliveryRate) WriteError(int) {}

func (p *deliveryRate) SendAt(c int, now time.Duration, inFlight int) time.Duration {
	return p.paths[c].sendAt(now, inFlight)
}

func (p *deliveryRate) Sent(c int, now time.Duration, inFlight int, starved bool) Mark {
	return p.paths[c].sent(now, inFlight, starved)
}

func (p *deliveryRate) RTO(c int) time.Duration { return p.paths[c].rto() }

func (p *deliveryRate) Reordering(c int) (uint64, time.Duration) {
	return reorderPackets, p.paths[c].reorder
}

func (p *deliveryRate) Lost(c int, _ time.Duration, packets int) {
	p.paths[c].lose(packets)
}

func (p *deliveryRate) OnTimeout(c int, _ time.Duration) {
	p.paths[c].onTimeout()
	p.added = false
}

func (p *deliveryRate) Probing(c int) bool { return p.paths[c].silent > 0 }

func (p *deliveryRate) OnSpuriousLoss(c int, now, after time.Duration) {
	p.paths[c].onSpuriousLoss(now, after)
	p.added = false
}

// RunPackets keeps a connection on consecutive segments for some milliseconds,
// so that an acknowledgement needs few ranges.
func (p *deliveryRate) RunPackets(c int) int {
	return int(min(p.paths[c].pace*runTime.Seconds(), maxRunPackets))
}

// Suits asks whether no other path would bring the last of those that wait
// earlier than this one brings the first.
func (p *deliveryRate) Suits(c int, now time.Duration, waiting int) bool {
	if p.paths[c].base.empty() { // to learn of it
		return true
	}
	mine := p.Arrival(c, now)
	for i, q := range p.paths {
		if q.silent > 0 || !q.measured() {
			continue
		}
		start := max(now, q.nextAt) + timing.Seconds(float64(waiting)/q.pace)
		if p.Arrival(i, start) < mine {
			return false
		}
	}
	return true
}

// Arrival takes half the RTT for the way there, and expects little of a path
// that has not answered yet.
func (p *deliveryRate) Arrival(c int, sent time.Duration) time.Duration {
	q := p.paths[c]
	if q.base.empty() {
		return sent + initialRTO
	}
	return sent + timing.Seconds(q.base.value()/2+q.queueing)
}

func (p *deliveryRate) Doubtful(c int) bool { return p.paths[c].lossRatio > doubtfulLoss }
