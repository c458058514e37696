package push

import (
	"errors"

	"ncp-testbed/internal/telemetry"
)

// maxSplits bounds what a batch that InfluxDB refuses as a whole may cost: a
// single bad point of maxBatchPoints is found in 13 halvings.
const maxSplits = 100

// deliver writes lines of a spool until InfluxDB has taken or rejected them,
// counts them and moves the spool's offset past them. It returns false when the
// time to drain is over.
//
// When InfluxDB refuses a whole batch, the fault may be a single point's: the
// halves then go by themselves, down to the points at fault. If the fault is
// not of single points, halving does not help: it ends after maxSplits, until
// a batch goes through again.
func (p *Pusher) deliver(t *tail, lines []byte, points int) bool {
	if points > 0 {
		err := p.persist(lines, points)
		refused, final := errors.AsType[*rejection](err)
		switch {
		case err == nil:
			p.count(points, 0)
			p.splits = maxSplits
		case !final:
			return false
		case refused.coarse && points > 1 && p.splits > 0:
			p.splits--
			half, n := telemetry.WholeLines(lines, points/2)
			return p.deliver(t, lines[:half], n) && p.deliver(t, lines[half:], points-n)
		default:
			p.faults.once(refused.Error())
			p.count(points, refused.points)
		}
	}
	t.offset += int64(len(lines))
	return true
}

func (p *Pusher) count(points, rejected int) {
	p.counts.Points += points
	p.counts.Rejected += rejected
	p.counts.Pushed += points - rejected
}
