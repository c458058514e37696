package policy

import (
	"time"

	"ncp-testbed/internal/cubic"
	"ncp-testbed/internal/timing"
)

const (
	minGain, maxGain = 0.75, 1.25 // times the measured rate
	calmGain         = 1.5        // at most, after so many round trips
	calmRounds       = 3          // without a queue
	startGain        = 2
	grownBy          = 1.25 // less growth in
	stalledRounds    = 2    // round trips ends the start
	arrivedSlower    = 0.92 // packets that arrive at this share of the rate they were sent at end the start
	maxLossShare     = 0.12 // that a drain may take for the path's own
	excessLoss       = 0.02 // above twice the path's own is too much
	retreat          = 0.85 // times the rate, if it is
	roundsApart      = 4    // between drains for losses

	drainEvery    = 5 * time.Second // and drainRounds round trips, the longer
	drainRounds   = 40
	drainGain     = 0.85 // times the rate as last measured, and less the longer the queue, down to
	minDrainGain  = 0.5
	competeFor    = 15 * time.Second
	crowdedLosses = 3 // round trips with too long a queue, then a loss, tell of another sender
	failedDrains  = 2 // in a row tell of another sender
	emptyAfter    = 2 // round trips without a queue tell that it has gone
	crowdedAfter  = 8 // round trips with too long a queue
)

// mode is what governs a path's pace.
type mode int

const (
	starting  mode = iota // doubling until the path shows that it carries no more
	steady                // a short queue
	draining              // sends less for a round trip, to see the path's own RTT and loss
	settling              // waits for a round trip for what that shows
	competing             // a window as TCP's, since someone else fills the queue
	yielding              // sends much less for some round trips, since much is lost
)

// control is the state of a path's pace.
type control struct {
	mode      mode
	grown     float64       // the rate when it last grew, while starting
	stalled   int           // round trips since
	calm      int           // round trips with hardly any queue
	crowded   int           // round trips with too long a queue
	drainedAt time.Duration // last, or when the smallest RTT fell
	drainPace float64
	shortest  float64      // queue seen since draining, in seconds
	failed    int          // drains in a row that left a queue
	undrained float64      // the rate before draining
	window    cubic.Window // while competing
	empty     int          // round trips without a queue, while competing
	ownLoss   float64      // share lost as seen by the last drain
	drainedIn int          // round trip
	cause     float64      // share lost before draining or yielding, if that was too much
	yield     yield
}

// target is the queueing delay in seconds that keeps the path busy: a fixed
// time, a few packets, so that flows that share a path become equal, and a
// part of the round trip.
func (p *path) target() float64 {
	base := p.base.value()
	return 0.004 + 4/p.rates.value() + base/16
}

// leaveStart ends the start once the path shows that it carries no more: a
// queue, a loss, or packets that arrive slower than they were sent.
func (p *path) leaveStart(b batch) {
	if p.mode != starting || !p.measured() {
		return
	}
	sent, arrived := b.newest-b.mark.FirstSent, b.at-b.mark.DeliveredAt
	if p.rounds < 2 {
		sent, arrived = b.newest-p.train.sent, b.at-p.train.at
	}
	lost, acked := p.lost-p.roundLost, p.delivered-p.roundAcked
	if p.queueing > p.target()+p.base.value()/8 || lost > acked/2 || float64(sent) < arrivedSlower*float64(arrived) {
		p.mode = steady
	}
}

// adjust is called once per round trip.
func (p *path) adjust(now time.Duration) {
	if !p.measured() {
		return
	}
	if p.yieldDue(now) {
		p.beginYield()
		return
	}
	switch p.mode {
	case starting:
		if p.rates.value() >= grownBy*p.grown {
			p.grown, p.stalled = p.rates.value(), 0
		} else if p.stalled++; p.stalled == stalledRounds {
			p.mode = steady
		}
	case steady:
		p.watchQueue(now)
	case draining:
		p.mode = settling
	case settling:
		p.endDrain(now)
	case competing:
		p.compete(now)
	case yielding:
		p.endYield(now)
	}
}

// watchQueue counts round trips with no queue and with one that does not
// yield, and drains when it is time.
func (p *path) watchQueue(now time.Duration) {
	p.calm++
	if p.queueing > p.target()/2 {
		p.calm = 0
	}
	p.crowded++
	if p.queueing < 2*p.target() {
		p.crowded = 0
	}
	if p.crowded >= crowdedLosses && p.roundRatio > 3*p.ownLoss {
		p.mode, p.empty = competing, 0
		p.undrained = p.recent
		p.window.Start(now, p.recent*p.SRTT)
		return
	}
	if p.drainDue(now) || p.crowded > crowdedAfter || p.excess() && p.rounds > p.drainedIn+roundsApart {
		p.drain()
	}
}

// drainDue is the same time for flows that share a path, since all see the
// smallest RTT fall when enough of them drain.
func (p *path) drainDue(now time.Duration) bool {
	return now-p.drainedAt > max(drainEvery, timing.Seconds(drainRounds*p.roundTrip()))
}

func (p *path) drain() {
	p.mode = draining
	gain := min(max(1-(p.queueing+p.target())/p.roundTrip(), minDrainGain), drainGain)
	if p.excess() && p.queueing > p.target() {
		gain = minDrainGain
	}
	p.undrained = p.recent
	p.drainPace = gain * p.recent
	p.shortest = p.queueing
	p.crowded = 0
	p.cause = 0
	if p.excess() {
		p.cause = p.roundRatio
	}
}

// excess reports whether the last round trip lost more than the path does by
// itself.
func (p *path) excess() bool {
	return p.roundRatio > 2*p.ownLoss+excessLoss
}

// endDrain takes the losses that remain for the path's own, and decides who
// fills the queue.
func (p *path) endDrain(now time.Duration) {
	p.drainedAt = now
	p.drainedIn = p.rounds
	if p.crowdedOut() {
		p.rates.set(now, retreat*p.rates.value())
		p.calm = -crowdedAfter
	}
	if p.shortest < p.target()+p.base.value()/8 {
		p.mode, p.failed = steady, 0
		p.learnLoss()
		return
	}
	if p.failed++; p.failed < failedDrains {
		p.mode = steady
		return
	}
	p.mode, p.empty = competing, 0
	p.window.Start(now, p.undrained*p.SRTT)
}

// crowdedOut reports whether sending less made losses go away.
func (p *path) crowdedOut() bool { return p.roundRatio < p.cause/2 }

// learnLoss takes the share lost without a queue for the path's own.
func (p *path) learnLoss() {
	if p.cause > 0 && !p.crowdedOut() {
		p.ownLoss = min((p.cause+p.roundRatio)/2, max(p.ownLoss, maxLossShare))
		return
	}
	p.ownLoss = min(p.ownLoss+(p.roundRatio-p.ownLoss)/4, max(p.ownLoss, maxLossShare))
}

// compete moves the window as TCP does.
func (p *path) compete(now time.Duration) {
	w := &p.window
	if p.roundRatio > 2*p.ownLoss+0.5/w.Packets {
		w.Lost(now)
	} else {
		w.Grow(now, p.SRTT)
	}
	p.empty++
	if p.queueing > p.target() {
		p.empty = 0
	}
	if p.empty > emptyAfter {
		p.mode = steady
		p.rates.set(now, max(p.rates.value(), retreat*p.undrained))
	} else if now-p.drainedAt > competeFor {
		p.drain()
	}
}

// setPace sets the pace right after an acknowledgement, when what is in flight
// is what the path itself holds.
func (p *path) setPace(inFlight int) {
	p.shortest = min(p.shortest, p.queueing)
	rate := p.rates.value()
	if p.queueing < p.target() {
		rate /= 1 - min(p.ownLoss, maxOwnLoss)
	}
	switch p.mode {
	case starting:
		rate *= startGain
	case competing:
		rate = maxGain * p.window.Packets / p.SRTT
	case draining, yielding:
		rate = p.drainPace
	case steady, settling:
		rate *= p.gain(p.target(), float64(inFlight)/rate)
		if p.calm > 1 && p.lossRatio < foreignLoss {
			rate += 1 / p.roundTrip() // what takeRate leaves out
		}
	}
	p.pace, p.most = max(rate, 1), 0
}

// gain corrects the queue to its target within two round trips, and seeks more
// the longer there has been none.
func (p *path) gain(target, inFlight float64) float64 {
	gain := 1 + p.shortfall(target, inFlight)/(2*p.roundTrip())
	if gain > 1 {
		gain += target / p.roundTrip() * float64(max(p.calm-1, 0))
	}
	limit := maxGain
	if p.calm >= calmRounds {
		limit = calmGain
	}
	if p.lossRatio > foreignLoss {
		limit = 1 // more would only be lost
	}
	return min(max(gain, minGain), limit)
}

// shortfall is by how many seconds the queue is shorter than its target. Two
// measures must agree: the RTT, which is old by then, and what is in flight,
// which counts lost packets until they are known.
func (p *path) shortfall(target, inFlight float64) float64 {
	byRTT := target - p.queueing
	byFlight := target - (inFlight - p.base.value())
	return max(min(byRTT, byFlight), 0) + min(max(byRTT, byFlight), 0)
}

// cap bounds what is in flight. It is read far more often than it changes.
func (p *path) cap() int {
	if p.most == 0 {
		p.most = p.bound()
	}
	return p.most
}

// bound is the path, a quarter more, and what waits to be acknowledged, once
// more in case an acknowledgement is lost.
func (p *path) bound() int {
	if p.silent > 0 {
		return 1
	}
	if !p.measured() {
		return p.start
	}
	if p.mode == competing {
		return int(p.window.Packets)
	}
	gain := maxGain
	if p.mode == starting {
		gain = startGain
	}
	return int(p.pace*(gain*p.base.value()+2*p.ackInterval.Seconds())) + 8
}
