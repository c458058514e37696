package policy

import (
	"time"

	"ncp-testbed/internal/rtt"
	"ncp-testbed/internal/timing"
)

const (
	// The start, before anything is known: W/n packets in flight, between these,
	// at startPPS.
	startPackets    = 160
	minStartPackets = 16
	startPPS        = 1280

	burst   = 10 * time.Millisecond // of its rate, that a late connection may catch up
	quantum = time.Millisecond      // of its rate, sent at once, so that fast paths need few timers
)

// path is what is known of one connection's way, and what follows from it.
type path struct {
	initial float64 // window in packets that is reported at first
	start   int     // packets in flight at first
	timer   rtt.Timeout

	nextAt  time.Duration // when the next packet is due
	pace    float64       // packets per second
	news    bool          // the pace is to be set anew
	most    int           // packets in flight, see cap; 0: not worked out since something changed
	limited uint64        // until so many are delivered, packets were sent below the rate for want of data

	estimate
	control

	reorder time.Duration // by how much packets overtake each other
	silent  int           // timeouts in a row
	before  float64       // the rate before them
}

func newPath(initial float64, start int, ackInterval time.Duration) *path {
	p := &path{initial: initial, start: start, pace: startPPS, timer: deliveryRateRTO(ackInterval)}
	p.ackInterval = ackInterval
	p.base.smallest = true
	p.mode = starting
	return p
}

func (p *path) measured() bool { return !p.rates.empty() }

// usable is the rate at which it delivers now.
func (p *path) usable() float64 {
	if p.silent > 0 {
		return 0
	}
	return p.rates.value()
}

func (p *path) sendAt(now time.Duration, inFlight int) time.Duration {
	if p.news {
		p.news = false
		p.setPace(inFlight)
	}
	if inFlight >= p.cap() {
		return timing.Never
	}
	if p.silent > 0 || p.nextAt-now < quantum && p.pace*quantum.Seconds() > 1 {
		return min(p.nextAt, now)
	}
	return p.nextAt
}

func (p *path) sent(now time.Duration, inFlight int, starved bool) Mark {
	if inFlight <= 1 { // after a rest
		p.firstSent, p.deliveredAt = now, now
		p.train = train{}
	}
	if starved {
		p.limited = p.delivered + uint64(inFlight)
	}
	p.nextAt = max(p.nextAt, now-burst) + timing.Seconds(1/p.pace)
	return Mark{Delivered: p.delivered, DeliveredAt: p.deliveredAt, FirstSent: p.firstSent, Limited: p.delivered < p.limited}
}

// rto has a batch's slowest packet as its sample.
func (p *path) rto() time.Duration { return p.timer.After(p.Estimator, p.silent) }

func (p *path) onTimeout() {
	p.most = 0
	if p.silent == 0 {
		p.before = p.rates.value()
	}
	p.silent++
}

// wake ends a silence: the path is taken for what it was before.
func (p *path) wake(now time.Duration) {
	p.most = 0
	if p.silent > 0 && p.before > 0 {
		p.rates.set(now, p.before)
		p.news = true
	}
	p.silent = 0
}

// onSpuriousLoss widens the reordering that is taken for normal, unless the packet
// was so late that the path was silent.
func (p *path) onSpuriousLoss(now, after time.Duration) {
	p.wake(now)
	srtt := timing.Seconds(p.SRTT)
	if late := after - srtt; late > 0 && after < p.rto() {
		p.reorder = min(max(p.reorder, late), srtt)
	}
}
