package relay

import (
	"math"
	"time"

	"ncp-testbed/telemetry"
)

// addPoint adds a point of the measurement link (docs/contracts.md): what happened to a direction between two
// samples. What was achieved is left out of an interval that has no frame to tell it.
func addPoint(p *telemetry.Points, run, scenario string, s, before *Sample, atUnixNS, beforeUnixNS int64) {
	tags := telemetry.MakeTags(map[string]string{
		"direction": s.Direction, "link": s.Link, "middle": "relay", "run": run, "scenario": scenario,
	})
	seconds := float64(atUnixNS-beforeUnixNS) / nsPerS
	sent, in := s.Sent-before.Sent, s.Counts.In-before.Counts.In
	late50, late99 := math.NaN(), math.NaN()
	if sent > 0 {
		late50, late99 = us(s.Lateness.quantile(0.5)), us(s.Lateness.quantile(0.99))
	}
	rate := s.Properties.RateBPS
	if rate == 0 {
		rate = math.NaN() // the link has none here
	}
	p.Add("link", tags, time.Unix(0, atUnixNS),
		telemetry.Float("rate_bps", rate),
		telemetry.Float("delay_ms", s.Properties.DelayMS),
		telemetry.Float("loss", s.Properties.MeanLoss()),
		telemetry.Float("achieved_bps", float64(s.SentBytes-before.SentBytes)*8/seconds),
		telemetry.Float("achieved_delay_ms", float64(s.DelaySumNS-before.DelaySumNS)/1e6/float64(sent)),
		telemetry.Float("achieved_loss", float64(s.Counts.Lost-before.Counts.Lost)/float64(in)),
		telemetry.Float("lateness_us", late50),
		telemetry.Float("lateness_p99_us", late99),
		telemetry.Int("backlog_bytes", s.HeldBytes),
		telemetry.Int("drops", s.Counts.QueueFull+s.Counts.QueueDelayed+s.Unplugged+s.Unasked.Total()),
		telemetry.Int("unasked_drops", s.Unasked.Total()),
	)
}
