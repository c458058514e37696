package policy

var minRTTEntry = entry{
	description: Description{
		Name: "minrtt", MinPackets: MinWindow,
		Initial: "10 packets each",
		Rule:    "CUBIC's window on each connection; the next segment to the one with the shortest RTT whose window has room",
		Source:  "MPTCP's default scheduler: Raiciu et al., NSDI 2012; Paasch et al., CSWS 2014, lowest-RTT-first",
	},
	start: func(s Setup) Policy { return &minRTT{newSubflows(s)} },
}

// minRTT is MPTCP's default: fill the window of the fastest connection, then
// that of the next.
type minRTT struct{ subflows }

func (p *minRTT) Takes(c int, m Moment) bool { return p.first(c, m) }
