package agent

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"ncp-testbed/ndn-agent/fetch"
)

func TestRoundTripsInShort(t *testing.T) {
	var rtts []time.Duration
	for i := range 100 { // 100 ms to 1 ms
		rtts = append(rtts, time.Duration(100-i)*time.Millisecond)
	}
	if got := summarize(rtts); got != (RTT{Mean: 50.5, Median: 50, P95: 95, Max: 100}) {
		t.Errorf("%+v", got)
	}
	if got := summarize(rtts[:1]); got != (RTT{100, 100, 100, 100}) {
		t.Errorf("%+v", got)
	}
	if got := summarize(nil); got != (RTT{}) {
		t.Errorf("%+v", got)
	}
}

// A result has the fields of its role, and no other's.
func TestResultsByRole(t *testing.T) {
	r := Result{Role: "consumer", DurationS: 2}
	r.addFetch(fetch.Default(""), fetch.Stats{Segments: 4, Bytes: 1_000_000, Marks: 3}, nil)
	text, err := json.Marshal(r)
	if err != nil || r.GoodputBPS != 4e6 || r.Figures["goodput_mbps"] != 4 || r.Figures["marked_share"] != 0.75 {
		t.Errorf("%s, %v", text, err)
	}
	for field, want := range map[string]bool{`"cwnd_cuts":0`: true, `"segments":4`: true, "pit_entries": false, "object_bytes": false} {
		if strings.Contains(string(text), field) != want {
			t.Errorf("%s: want it there: %t: %s", field, want, text)
		}
	}
}
