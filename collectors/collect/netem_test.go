package collect

import (
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ncp-testbed/collectors/watch"
	"ncp-testbed/internal/netstat"
	"ncp-testbed/internal/telemetry"
)

// Counters of netem and of the queue before it, as this kernel may not have them.
func TestNetemIsTheMeasurementLink(t *testing.T) {
	names := map[int]string{2: "l1b", 3: "l1x", 4: "l1a"}
	at := time.Unix(1700000000, 0)
	queues := func(packets, drops, held, full uint64) []netstat.Queue {
		none := math.NaN()
		return []netstat.Queue{
			{Interface: 4, Kind: "netem", Root: true, Netem: &netstat.Netem{DelayMS: 1}, RateBPS: none, Packets: 999},
			{
				Interface: 2, Kind: "netem", Root: true, Netem: &netstat.Netem{DelayMS: 50, Loss: 0.1}, RateBPS: none,
				Packets: packets, Bytes: 1000 * packets, Drops: drops, BacklogPackets: held, BacklogBytes: 1000 * held,
			},
			{Interface: 3, Kind: "htb", Root: true, RateBPS: none, Drops: full, BacklogBytes: 500},
			{Interface: 3, Kind: "bfifo", RateBPS: none, Drops: full, BacklogBytes: 500},
			{Interface: 3, Kind: "htb", Handle: "1:1", RateBPS: 8e6, Drops: full},
		}
	}
	n := newNetem(watch.Netem{Link: "fast", Direction: "ab", Delay: "l1b", Queue: "l1x"}, tags{"run": "r"})
	var p telemetry.Points
	n.add(&p, names, queues(100, 10, 5, 1), at)
	if _, count, _ := p.Take(); count != 0 {
		t.Fatalf("%d points of no time", count)
	}
	// In 0.1 s 90 left, 5 more are held and 5 were lost: 100 arrived.
	n.add(&p, names, queues(190, 15, 10, 3), at.Add(100*time.Millisecond))
	file := filepath.Join(t.TempDir(), "x.lp")
	lines, _, _ := p.Take()
	if err := os.WriteFile(file, lines, 0o644); err != nil {
		t.Fatal(err)
	}
	point := last(t, readSpool(t, file), "link", map[string]string{"link": "fast", "direction": "ab", "middle": "netem"})
	for field, want := range map[string]float64{
		"rate_bps": 8e6, "delay_ms": 50, "loss": 0.1, "achieved_bps": 90 * 8000 / 0.1, "achieved_loss": 0.05,
		"backlog_bytes": 10500, "drops": 3,
	} {
		if got := point.number(t, field); math.Abs(got-want) > 1e-9*want {
			t.Errorf("%s %v, want %v", field, got, want)
		}
	}
	for _, field := range []string{"lateness_us", "achieved_delay_ms"} {
		if _, ok := point.fields[field]; ok {
			t.Errorf("%s is made up", field)
		}
	}
}
