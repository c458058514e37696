package relay

import (
	"ncp-testbed/internal/linkmetrics"
	"ncp-testbed/internal/telemetry"
	"ncp-testbed/internal/timing"
)

// addPoint adds the point of what happened to a direction between two samples.
func addPoint(p *telemetry.Points, run, scenario string, s, before *Sample, at, beforeAt timing.Unix) {
	late := linkmetrics.NoLateness
	if s.Sent > before.Sent {
		late = linkmetrics.Lateness{P50US: us(s.Lateness.quantile(0.5)), P99US: us(s.Lateness.quantile(0.99))}
	}
	now, then := s.state(), before.state()
	linkmetrics.Add(p, linkmetrics.Tags(run, scenario, "relay", s.Link, s.Direction), &now, &then,
		at.Time(), at.Sub(beforeAt), late)
}

func (s *Sample) state() linkmetrics.State {
	return linkmetrics.State{
		Properties: s.Properties, Counts: s.Counts, Sent: s.Sent, SentBytes: s.SentBytes, DelaySum: s.DelaySum,
		HeldBytes:    s.HeldBytes,
		Drops:        s.Counts.QueueFull + s.Counts.QueueDelayed + s.Down + s.Faults.Total(),
		UnaskedDrops: s.Faults.Total(),
	}
}
