package relay

import (
	"time"

	"ncp-testbed/internal/linkmetrics"
	"ncp-testbed/internal/telemetry"
)

// addPoint adds the point of what happened to a direction between two samples.
func addPoint(p *telemetry.Points, run, scenario string, s, before *Sample, atUnixNS, beforeUnixNS int64) {
	late := linkmetrics.NoLateness
	if s.Sent > before.Sent {
		late = linkmetrics.Lateness{P50US: us(s.Lateness.quantile(0.5)), P99US: us(s.Lateness.quantile(0.99))}
	}
	now, then := s.state(), before.state()
	linkmetrics.Add(p, linkmetrics.Tags(run, scenario, "relay", s.Link, s.Direction), &now, &then,
		time.Unix(0, atUnixNS), time.Duration(atUnixNS-beforeUnixNS), late)
}

func (s *Sample) state() linkmetrics.State {
	return linkmetrics.State{
		Properties: s.Properties, Counts: s.Counts, Sent: s.Sent, SentBytes: s.SentBytes, DelaySumNS: s.DelaySumNS,
		HeldBytes:    s.HeldBytes,
		Drops:        s.Counts.QueueFull + s.Counts.QueueDelayed + s.Unplugged + s.Unasked.Total(),
		UnaskedDrops: s.Unasked.Total(),
	}
}
