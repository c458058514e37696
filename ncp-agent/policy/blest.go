package policy

import (
	"time"

	"ncp-testbed/internal/timing"
)

var blestEntry = entry{
	description: Description{
		Name: "blest", MinPackets: MinWindow,
		Initial: "10 packets each",
		Rule:    "as minrtt, but a slower connection takes nothing that would keep the send window from what the fastest sends meanwhile",
		Source:  "BLEST: Ferlin, Alay, Mehani, Boreli, IFIP Networking 2016; correction λ as in its authors' Linux module",
	},
	start: func(s Setup) Policy { return &blest{subflows: newSubflows(s), correction: startCorrection} },
}

// BLEST's λ: where it starts, its range, and its steps per round trip of the
// slower connection, with and without the send window having been full.
const (
	startCorrection              = 1.2
	minCorrection                = 1.0
	maxCorrection                = 1.3
	correctionUp, correctionDown = 0.04, 0.01
)

// blest estimates whether a segment on a slower connection would block the
// send window before it is acknowledged.
type blest struct {
	subflows
	correction  float64 // λ
	correctedAt time.Duration
	blocked     bool // the send window was full since
}

func (p *blest) Takes(c int, m Moment) bool {
	p.blocked = p.blocked || m.Blocked
	if !p.first(c, m) {
		return false
	}
	f := p.fastest(c, m)
	if f == c {
		return true
	}
	p.correct(c, m.Now)
	slow, fast := p.flows[c], p.flows[f]
	return p.correction*sentMeanwhile(slow, fast) <= float64(m.Window-(m.InFlight[c]+1))
}

// sentMeanwhile is X in packets: what the fast connection sends while a packet
// is under way on the slow one, its window growing by one per round trip.
func sentMeanwhile(slow, fast *subflow) float64 {
	rounds := slow.SRTT / fast.SRTT
	return (fast.Packets + (rounds-1)/2) * rounds
}

func (p *blest) correct(c int, now time.Duration) {
	if now < p.correctedAt+timing.Seconds(p.flows[c].SRTT) {
		return
	}
	step := -correctionDown
	if p.blocked {
		step = correctionUp
	}
	p.correction = min(max(p.correction+step, minCorrection), maxCorrection)
	p.correctedAt, p.blocked = now, false
}
