package policy

var ecfEntry = entry{
	description: Description{
		Name: "ecf", MinPackets: MinWindow,
		Initial: "10 packets each",
		Rule:    "as minrtt, but a slower connection takes nothing that the fastest, once it has room, would have brought to its end earlier",
		Source:  "ECF: Lim, Nahum, Towsley, Gibbens, CoNEXT 2017, Algorithm 1; at least one round trip of each, as in its authors' Linux module",
	},
	start: func(s Setup) Policy { return &ecf{subflows: newSubflows(s)} },
}

// hysteresis is ECF's β: who waits goes on waiting for a little longer.
const hysteresis = 0.25

// ecf compares when all that waits would be done: over the fastest connection
// alone, or with a slower one's help.
type ecf struct {
	subflows
	waiting bool // for the fastest
}

func (p *ecf) Takes(c int, m Moment) bool {
	if !p.first(c, m) {
		return false
	}
	f := p.fastest(c, m)
	if f == c {
		return true
	}
	slow, fast := p.flows[c], p.flows[f]
	margin := max(slow.RTTVAR, fast.RTTVAR) // δ
	patience := 1.0
	if p.waiting {
		patience += hysteresis
	}
	if (1+rounds(m.Waiting, fast))*fast.SRTT >= patience*(slow.SRTT+margin) {
		p.waiting = false
		return true
	}
	if rounds(m.Waiting, slow)*slow.SRTT >= 2*fast.SRTT+margin {
		p.waiting = true
		return false
	}
	return true
}

// rounds is how many round trips a connection needs for what waits, k / CWND.
func rounds(waiting int, f *subflow) float64 { return max(float64(waiting)/f.Packets, 1) }
