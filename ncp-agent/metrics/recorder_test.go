package metrics

import (
	"testing"
	"time"

	"ncp-testbed/ncp-agent/session"
)

// Once the last second is full, a sample allocates nothing: a run in virtual
// time takes thousands.
func TestSamplesAllocateNothing(t *testing.T) {
	for _, role := range []string{Sender, Receiver} {
		r := NewRecorder(Names{Run: "r", Scenario: "s", Session: "s1", Policy: "nkp24"}, role, 2)
		stats := session.Stats{Connections: []session.ConnectionStats{{RTT: time.Millisecond}, {RTT: time.Second}}}
		start := time.Unix(1, 0)
		at := start
		sample := func() {
			at = at.Add(100 * time.Millisecond)
			stats.Connections[0].Acked += 7
			r.Sample(at, start, &stats)
			r.Points.Take()
		}
		for range 30 {
			sample()
		}
		if n := testing.AllocsPerRun(100, sample); n != 0 {
			t.Errorf("%s: %v allocations for each sample", role, n)
		}
	}
}

// Rates are over the last second, whose beginning is found in what is kept of
// it, and over what there is before a second has passed.
func TestRatesAreOfTheLastSecond(t *testing.T) {
	r := NewRecorder(Names{Run: "r"}, Receiver, 1)
	start := time.Unix(1, 0)
	stats := session.Stats{Connections: make([]session.ConnectionStats, 1)}
	for i := 1; i <= 25; i++ {
		stats.Connections[0].Delivered += uint64(i) // in this tenth of a second
		r.Sample(start.Add(time.Duration(i)*100*time.Millisecond), start, &stats)
		if i < 25 {
			r.Points.Take()
		}
	}
	lines, _, err := r.Points.Take()
	// 16 + 17 + … + 25
	want := "ncp_connection,connection=1,role=receiver,run=r delivered_pps=205,delivered_share=1 3500000000\n" +
		"ncp_session,role=receiver,run=r goodput_bps=0,bytes=0i,reorder_bytes=0i 3500000000\n"
	if string(lines) != want || err != nil {
		t.Errorf("%q, %v, want %q", lines, err, want)
	}
}
