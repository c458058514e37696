package policy

import (
	"math"
	"time"
)

const (
	foreignLoss  = 0.15 // smoothed share lost that is hardly the path's own
	maxOwnLoss   = 0.5  // that the pace makes up for
	yieldGain    = 0.5  // times the rate
	yieldRounds  = 8    // round trips, as other senders on the path take some to do the same
	yieldLongest = 4    // times as many, while the share lost is another each time
	asBefore     = 0.25 // times the share lost that it may differ by to be the same
)

// yield is what a path finds out by sending much less for a while: whether it
// is itself that loses so much, or a full queue. Those who share a full queue
// all lose, and a newcomer has taken its RTT for the path's own, so that RTTs
// do not tell; but they all yield, and then the queue goes.
type yield struct {
	at          time.Duration // of its end
	rounds      int
	rate        float64 // before
	lost, acked uint64  // when what is sent less began to show
	failed      int     // in a row: losses did not go away, and changed
	confirmed   int     // in a row: they did not change either
}

// yieldDue also asks again, now and then, whether what was taken for the
// path's own loss still is.
func (p *path) yieldDue(now time.Duration) bool {
	if p.mode == starting || p.mode == yielding || p.lossRatio < foreignLoss {
		return false
	}
	return p.lossRatio > 1.5*p.ownLoss || now-p.yield.at > drainEvery<<min(p.yield.confirmed, 3)
}

func (p *path) beginYield() {
	p.mode = yielding
	p.cause = p.lossRatio
	p.undrained = p.recent
	p.drainPace = yieldGain * p.recent
	p.yield.rounds, p.yield.rate = 0, p.rates.value()
}

// endYield is called each round trip. The first two tell of what was sent
// before.
func (p *path) endYield(now time.Duration) {
	y := &p.yield
	if y.rounds++; y.rounds == 2 {
		y.lost, y.acked = p.lost, p.delivered
	}
	if y.rounds < yieldRounds*min(1+y.failed, yieldLongest) {
		return
	}
	lost, acked := float64(p.lost-y.lost), float64(p.delivered-y.acked)
	share := lost / max(lost+acked, 1)
	p.lossRatio, p.roundRatio = share, share
	p.mode, p.drainedAt, p.drainedIn, y.at = steady, now, p.rounds, now
	p.crowded, p.failed, p.calm = 0, 0, 0
	if share < p.cause/2 { // a full queue's
		y.failed, y.confirmed = 0, 0
		p.ownLoss = min(p.ownLoss, share)
		return
	}
	if math.Abs(share-p.ownLoss) < asBefore*p.ownLoss {
		y.failed, y.confirmed = 0, y.confirmed+1
		p.rates.set(now, y.rate)
	} else {
		y.failed, y.confirmed = y.failed+1, 0
		p.rates.set(now, retreat*y.rate)
	}
	p.ownLoss = share
}
