package relay

import (
	"fmt"
	"time"

	"github.com/influxdata/line-protocol/v2/lineprotocol"
)

// points formats samples as points of the measurement link (docs/contracts.md).
type points struct {
	run, scenario string
	encoder       lineprotocol.Encoder
}

func newPoints(run, scenario string) *points {
	p := &points{run: run, scenario: scenario}
	p.encoder.SetPrecision(lineprotocol.Nanosecond)
	return p
}

// add makes a point of what happened between two samples. What was achieved is left out of an interval that
// has no frame to tell it.
func (p *points) add(s, before *Sample, atUnixNS, beforeUnixNS int64) {
	e := &p.encoder
	e.StartLine("link")
	for _, tag := range [][2]string{
		{"direction", s.Direction}, {"link", s.Link}, {"middle", "relay"}, {"run", p.run}, {"scenario", p.scenario},
	} {
		e.AddTag(tag[0], tag[1])
	}
	number := func(name string, value float64) {
		if v, ok := lineprotocol.FloatValue(value); ok {
			e.AddField(name, v)
		}
	}
	count := func(name string, value uint64) { e.AddField(name, lineprotocol.IntValue(int64(value))) }

	number("delay_ms", s.Properties.DelayMS)
	number("loss", s.Properties.MeanLoss())
	if s.Properties.RateBPS > 0 {
		number("rate_bps", s.Properties.RateBPS)
	}
	seconds := float64(atUnixNS-beforeUnixNS) / nsPerS
	number("achieved_bps", float64(s.SentBytes-before.SentBytes)*8/seconds)
	if sent := s.Sent - before.Sent; sent > 0 {
		number("achieved_delay_ms", float64(s.DelaySumNS-before.DelaySumNS)/float64(sent)/1e6)
		number("lateness_us", us(s.Lateness.quantile(0.5)))
		number("lateness_p99_us", us(s.Lateness.quantile(0.99)))
	}
	if in := s.Counts.In - before.Counts.In; in > 0 {
		number("achieved_loss", float64(s.Counts.Lost-before.Counts.Lost)/float64(in))
	}
	count("backlog_bytes", uint64(s.HeldBytes))
	count("drops", s.Counts.QueueFull+s.Counts.QueueDelayed+s.Unasked.Total())
	count("unasked_drops", s.Unasked.Total())
	e.EndLine(time.Unix(0, atUnixNS))
}

// text is all lines, or the first fault in them.
func (p *points) text() ([]byte, error) {
	if err := p.encoder.Err(); err != nil {
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	return p.encoder.Bytes(), nil
}
