package collect

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
	"time"

	"ncp-testbed/collectors/watch"
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

// Collectors of which one can't have its spool leave none open.
func TestCollectorsThatFailLeaveNothingOpen(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which closes files that nobody has any more
	directory := t.TempDir()
	if err := os.Mkdir(filepath.Join(directory, "sockets.lp"), 0o755); err != nil {
		t.Fatal(err)
	}
	list := &watch.List{IntervalMS: 100, TCPIntervalMS: 50, Sockets: []watch.Socket{{Host: "h1", Protocol: "udp"}}}
	before, _ := os.ReadDir("/proc/self/fd")
	_, err := Run(t.Context(), list, directory, io.Discard)
	if after, _ := os.ReadDir("/proc/self/fd"); err == nil || len(after) != len(before) {
		t.Errorf("%v, %d more descriptors are open", err, len(after)-len(before))
	}
}
