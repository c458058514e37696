package policy

import "math"

const (
	previousStart = 16
	previousCap   = 256
)

var previousEntry = entry{
	description: Description{
		Name: "previous", CapPackets: new(previousCap), MinPackets: MinWindow,
		Initial: "16 packets each",
		Rule:    "+1 per acknowledged packet that was not resent, at most 256; halved per timed-out packet, at least 1",
		Source:  "ncp-go 1.0.0, as NKP-0024 describes it under Current Process",
	},
	start: func(s Setup) Policy { return &previous{windows: s.windows(previousStart)} },
}

// previous is the rule before NKP-0024: each connection's window grows and
// shrinks by itself, in whole packets, under a fixed cap.
type previous struct{ windows []float64 }

func (p *previous) Window(c int) float64 { return p.windows[c] }

func (p *previous) Acked(c int, ack Ack) {
	if !ack.Resent {
		p.windows[c] = min(p.windows[c]+1, previousCap)
	}
}

func (p *previous) TimedOut(c int) {
	p.windows[c] = max(MinWindow, math.Floor(p.windows[c]/2))
}

// WriteError leaves the window as it is: this rule did not know it.
func (p *previous) WriteError(int) {}

func (p *previous) EndBatch() {}
