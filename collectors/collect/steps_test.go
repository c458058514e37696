package collect

import (
	"context"
	"io"
	"path/filepath"
	"testing"
	"time"

	"ncp-testbed/internal/telemetry"
)

// noted is a sampler that notes when it samples, and ends the collector.
type noted struct {
	at  []time.Time
	end func()
}

func (n *noted) sample(at time.Time, _ *telemetry.Points) error {
	if n.at = append(n.at, at); len(n.at) == 6 {
		n.end()
	}
	return nil
}

func (n *noted) close() {}

// After the first, samples fall on whole steps of the clock, as those of all components do, whenever the collector begins.
func TestSamplesFallOnSteps(t *testing.T) {
	const interval = 200 * time.Millisecond
	spool, err := telemetry.OpenSpool(filepath.Join(t.TempDir(), "x.lp"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n := &noted{end: cancel}
	time.Sleep(time.Until(telemetry.NextStep(time.Now(), interval).Add(interval / 2)))
	c := &collector{name: "x", interval: interval, sampler: n, spool: spool, log: io.Discard}
	if _, err := c.run(ctx); err != nil {
		t.Fatal(err)
	}
	earliest := interval
	for _, at := range n.at[1:] {
		earliest = min(earliest, at.Sub(at.Truncate(interval)))
	}
	if earliest > interval/8 {
		t.Errorf("no sample of %v is near a step of %v", n.at, interval)
	}
}
