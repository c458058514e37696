package cubic

import (
	"math"
	"time"
)

// Sender is the window of a sender that begins with slow start (RFC 5681) and
// goes on with CUBIC after a loss.
type Sender struct {
	Packets   float64
	Threshold float64 // slow start ends there; infinite until the first loss

	window Window // as of the last loss or round trip outside slow start
}

// NewSender returns the window of a sender that knows nothing of its path.
func NewSender(packets float64) Sender { return Sender{Packets: packets, Threshold: math.Inf(1)} }

// SlowStart reports whether the window grows by what is acknowledged.
func (s *Sender) SlowStart() bool { return s.Packets < s.Threshold }

// Acked grows the window in slow start.
func (s *Sender) Acked(packets float64) {
	if s.SlowStart() {
		s.Packets = min(s.Packets+packets, s.Threshold)
	}
}

// EndRound grows the window once per round trip outside slow start.
func (s *Sender) EndRound(now time.Duration, rttS float64) {
	if !s.SlowStart() {
		s.window.Grow(now, rttS)
		s.Packets = s.window.Packets
	}
}

// Lost cuts the window.
func (s *Sender) Lost(now time.Duration) {
	s.reduce(now)
	s.Packets = s.Threshold
}

// TimedOut starts slowly again, up to what a loss would leave (RFC 5681, 3.1).
// Of timeouts in a row, the first alone lowers the threshold.
func (s *Sender) TimedOut(now time.Duration, first bool, packets float64) {
	if first {
		s.reduce(now)
	}
	s.Packets = packets
}

func (s *Sender) reduce(now time.Duration) {
	if s.window.Packets != s.Packets { // slow start
		s.window.Start(now, s.Packets)
	}
	s.window.Lost(now)
	s.Threshold = s.window.Packets
}
