// Package linkmetrics writes down what one direction of a link did, as points of
// the measurement link (docs/contracts.md). It has no clock: the relay's, a
// collector's or a simulated one gives the times.
package linkmetrics

import (
	"math"
	"time"

	"ncp-testbed/internal/linkmodel"
	"ncp-testbed/internal/telemetry"
)

// State is one direction at a moment. All but Properties and HeldBytes are cumulative.
type State struct {
	Properties      linkmodel.Properties
	Counts          linkmodel.Counts
	Sent, SentBytes uint64
	DelaySum        time.Duration // of the frames sent, from arrival to leaving
	DelayUncounted  bool          // DelaySum is not known
	HeldBytes       int
	Drops           uint64 // by the queue, a link that is down, or a fault of the machine
	UnaskedDrops    uint64 // of these, by a fault of the machine
}

// Lateness is by how much frames left after they were due, in an interval; NaN where there is none to tell of.
type Lateness struct{ P50US, P99US float64 }

// NoLateness is that of an interval without frames, and of virtual time.
var NoLateness = Lateness{math.NaN(), math.NaN()}

// Tags are those of a direction's points; middle says what delays its frames.
func Tags(run, scenario, middle, link string, direction linkmodel.Direction) telemetry.Tags {
	return telemetry.MakeTags(map[string]string{
		"direction": string(direction), "link": link, "middle": middle, "run": run, "scenario": scenario,
	})
}

// Add adds the point of an interval that ends at a time. What was achieved is left out of an interval that has
// no frame to tell it.
func Add(p *telemetry.Points, tags telemetry.Tags, s, before *State, at time.Time, interval time.Duration, late Lateness) {
	seconds := interval.Seconds()
	sent, in := s.Sent-before.Sent, s.Counts.In-before.Counts.In
	rate := s.Properties.RateBPS
	if rate == 0 {
		rate = math.NaN() // the link has none here
	}
	delayMS := float64(s.DelaySum-before.DelaySum) / 1e6 / float64(sent)
	if s.DelayUncounted {
		delayMS = math.NaN()
	}
	p.Add("link", tags, at,
		telemetry.Float("rate_bps", rate),
		telemetry.Float("delay_ms", s.Properties.DelayMS),
		telemetry.Float("loss", s.Properties.MeanLoss()),
		telemetry.Float("achieved_bps", float64(s.SentBytes-before.SentBytes)*8/seconds),
		telemetry.Float("achieved_delay_ms", delayMS),
		telemetry.Float("achieved_loss", float64(s.Counts.Lost-before.Counts.Lost)/float64(in)),
		telemetry.Float("lateness_us", late.P50US),
		telemetry.Float("lateness_p99_us", late.P99US),
		telemetry.Int("backlog_bytes", s.HeldBytes),
		telemetry.Int("drops", s.Drops),
		telemetry.Int("unasked_drops", s.UnaskedDrops),
	)
}
