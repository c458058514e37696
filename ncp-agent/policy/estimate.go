package policy

import (
	"time"

	"ncp-testbed/internal/rtt"
	"ncp-testbed/internal/timing"
)

const (
	baseMemory    = 10 * time.Second // of the smallest RTT
	baseFell      = 0.001            // seconds less are a fall of the smallest RTT
	rateRounds    = 4                // memory of the largest rate in round trips
	minLostBatch  = 4                // packets
	minRateMemory = 400 * time.Millisecond
)

// estimate is what acknowledgements tell of a path.
type estimate struct {
	ackInterval time.Duration // between those of the peer; much of what is in flight has arrived already

	delivered   uint64        // packets
	deliveredAt time.Duration // when the last of them was known
	firstSent   time.Duration // when the newest of them was sent
	batch       batch
	quiet       time.Duration // without an acknowledgement, before the last
	train       train

	rates    minmax  // delivered packets per second, the largest
	recent   float64 // the last of them
	base     minmax  // RTT in seconds, the smallest
	queueing float64 // seconds, of the last batch
	rtt.Estimator[float64]

	rounds    int    // round trips
	roundEnds uint64 // the delivered count that ends the round

	lost                  uint64 // found by newer packets' acknowledgements
	roundLost, roundAcked uint64 // as the round began
	roundRatio            float64
	lossRatio             float64 // smoothed
}

// batch is what one acknowledgement packet tells of a path.
type batch struct {
	open           bool
	measured       bool
	at             time.Duration
	minRTT, maxRTT time.Duration
	newest         time.Duration // when the newest packet was sent
	mark           Mark          // that packet's
}

// train is the first batch after a rest: from there to the next, the rate can
// be measured before a round trip is over.
type train struct {
	at, sent  time.Duration
	delivered uint64
}

// acked takes one acknowledgement, and reports whether it is a batch's first.
func (e *estimate) acked(ack Ack) (opened bool) {
	if !ack.Own && !ack.Implied {
		return false
	}
	e.delivered++
	if !ack.Own {
		return false
	}
	b := &e.batch
	if opened = !b.open; opened {
		e.quiet = ack.At - b.at
		*b = batch{open: true, at: ack.At, minRTT: timing.Never}
	}
	// What was sent again and comes back in less than the path's RTT, or before
	// that is known, may be the earlier sending.
	if ack.Ambiguous && (e.base.empty() || ack.RTT.Seconds() < e.base.value()) {
		return opened
	}
	b.minRTT, b.maxRTT = min(b.minRTT, ack.RTT), max(b.maxRTT, ack.RTT)
	if ack.SentAt >= b.newest {
		b.newest, b.mark = ack.SentAt, ack.Mark
	}
	b.measured = true
	return opened
}

func (p *path) endBatch() {
	b := p.batch
	p.batch.open = false
	p.wake(b.at)
	if !b.measured {
		return
	}
	p.takeRTT(b)
	p.takeRate(b)
	p.leaveStart(b)
	if b.mark.Delivered >= p.roundEnds {
		p.endRound(b.at)
	}
	p.deliveredAt, p.firstSent = b.at, b.newest
	p.news = p.measured()
}

// takeRTT uses the packet that waited least for its acknowledgement to tell
// the queue, and the one that waited most for the RTO.
func (p *path) takeRTT(b batch) {
	least := b.minRTT.Seconds()
	if p.base.empty() || least < p.base.value()-baseFell {
		p.drainedAt = b.at
	}
	p.base.add(b.at, least, baseMemory)
	p.queueing = least - p.base.value()
	p.Add(b.maxRTT.Seconds(), 1)
}

// takeRate measures the delivery rate over at least one round trip, as BBR
// does (draft-cheng-iccrg-delivery-rate-estimation); the first time from one
// acknowledgement to the next.
func (e *estimate) takeRate(b batch) {
	// One packet less: the largest of many counts is one too high.
	packets := float64(e.delivered-b.mark.Delivered) - 1
	took := max(b.at-b.mark.DeliveredAt, b.newest-b.mark.FirstSent)
	if e.train.at == 0 {
		e.train = train{b.at, b.newest, e.delivered}
		if e.rates.empty() {
			return
		}
	}
	if e.rates.empty() {
		packets = float64(e.delivered - e.train.delivered)
		took = max(b.at-e.train.at, b.newest-e.train.sent)
	}
	if took <= 0 || packets < 1 {
		return
	}
	rate := packets / took.Seconds()
	e.recent = rate
	if b.mark.Limited && rate < e.rates.value() {
		return
	}
	e.rates.add(b.at, rate, max(timing.Seconds(rateRounds*e.roundTrip()), minRateMemory))
}

// lose counts packets lost in a row, unless they are so many, after a time
// without any acknowledgement, that rather their acknowledgement was lost.
func (e *estimate) lose(packets int) {
	batch := e.rates.value() * e.ackInterval.Seconds()
	if float64(packets) < max(batch/2, minLostBatch) || e.quiet < e.ackInterval*3/2 {
		e.lost += uint64(packets)
	}
}

// roundTrip is the time from a change of pace to what it shows, in seconds.
func (e *estimate) roundTrip() float64 { return e.base.value() + e.ackInterval.Seconds() }

// endRound is called once per round trip.
func (p *path) endRound(now time.Duration) {
	p.roundEnds = p.delivered + 1
	p.rounds++
	acked, lost := p.delivered-p.roundAcked, p.lost-p.roundLost
	p.roundAcked, p.roundLost = p.delivered, p.lost
	p.roundRatio = float64(lost) / float64(max(acked+lost, 1))
	p.lossRatio += (p.roundRatio - p.lossRatio) / 8
	p.adjust(now)
}
