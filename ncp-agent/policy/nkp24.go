package policy

var nkp24Entry = entry{
	description: Description{
		Name: "nkp24", MinPackets: MinWindow, Normalised: true,
		Initial: "W/n packets each, W = send window / MTU",
		Rule:    "+1 per acknowledged packet that was not resent, halved per timed-out packet and per write error, at least 1; then all scaled so that their sum is W",
		Source:  "NKP-0024, as ncp-go 1.0.4 and later implement it",
	},
	start: func(s Setup) Policy {
		return &nkp24{windows: s.windows(s.SessionWindowPackets / float64(s.Connections)), total: s.SessionWindowPackets}
	},
}

// nkp24 is the rule of NKP-0024: windows share the session's W packets in
// proportion to what the connections deliver. With r packets acknowledged per
// second in all, a share nears its limit as e^(−t/τ), τ = W/r.
type nkp24 struct {
	windows []float64
	total   float64 // W
}

func (p *nkp24) Window(c int) float64 { return p.windows[c] }

func (p *nkp24) Acked(c int, ack Ack) {
	if !ack.Resent {
		p.windows[c]++
	}
}

func (p *nkp24) TimedOut(c int) { p.windows[c] = max(MinWindow, p.windows[c]/2) }

func (p *nkp24) WriteError(c int) { p.windows[c] = max(MinWindow, p.windows[c]/2) }

// EndBatch scales the windows to the sum W. A window that would fall below
// the minimum is put on it, so that the sum may exceed W by less than n.
func (p *nkp24) EndBatch() {
	sum := 0.0
	for _, w := range p.windows {
		sum += w
	}
	for c, w := range p.windows {
		p.windows[c] = max(MinWindow, p.total*(w/sum))
	}
}
