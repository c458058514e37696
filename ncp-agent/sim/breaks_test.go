package sim

import (
	"encoding/json"
	"testing"
	"time"

	"ncp-testbed/internal/linkmodel"
	"ncp-testbed/ncp-agent/policy"
)

// One of two equal links breaks for a second. Meanwhile the other carries at
// least 95% of its rate, and the application reads as much; 1 s later the
// windows are equal again, and what arrives in half a second after that. For
// the other policies -v shows the same.
func TestBreaks(t *testing.T) {
	t.Parallel()
	up, down := true, false
	loses := func(share string) *linkmodel.Change {
		c := &linkmodel.Change{}
		if err := json.Unmarshal([]byte(`{"loss": `+share+`}`), c); err != nil {
			t.Fatal(err)
		}
		return c
	}
	const at, lasts = 5 * time.Second, time.Second
	breaks := map[string][]Event{
		"reader paused": {{At: at, Transfer: "s", Connection: 1, PauseRead: lasts}},
		"black hole": {
			{At: at, Link: "link2", Set: loses("1")},
			{At: at + lasts, Link: "link2", Set: loses("0")},
		},
		"carrier down": {{At: at, Link: "link2", Up: &down}, {At: at + lasts, Link: "link2", Up: &up}},
	}
	for _, q := range queueKinds {
		for _, name := range []string{"reader paused", "black hole", "carrier down"} {
			for _, p := range policy.Names() {
				if p != "delivery-rate" && !testing.Verbose() {
					continue
				}
				run := transferOver([]path{{1024, 50, 0}, {1024, 50, 0}}, q, p, 80<<20)
				run.Events = breaks[name]
				run.Until = 15 * time.Second
				samples := simulate(t, run).since(0)
				before, after := sampleAt(samples, at), sampleAt(samples, at+lasts)
				seconds := (samples[after].At - samples[before].At).Seconds()
				carried := received(&samples[before], &samples[after], 0) / 1024 / seconds
				read := float64(samples[after].Receiver.ReadBytes-samples[before].Receiver.ReadBytes) / (1 << 20) / seconds
				rest := samples[after:]
				windows := sinceThen(settled(rest, 1, windowRatio(rest)), at+lasts)
				delivered := sinceThen(settled(rest, 1, deliveredRatio(rest, 500*time.Millisecond)), at+lasts)
				t.Logf("%-24s %s, %s: the other link %.0f%%, read %.0f%% of its rate; windows equal after %s, delivery after %s",
					q.name, name, p, 100*carried, 100*read, show(windows), show(delivered))
				if p != "delivery-rate" {
					continue
				}
				if carried < 0.95 || read < 0.95 {
					t.Error("want 95%")
				}
				if windows > time.Second || delivered > 1500*time.Millisecond {
					t.Error("too late: want 1 s and 1.5 s")
				}
			}
		}
	}
}

// sinceThen is how long after an event something was, if it was at all.
func sinceThen(at, event time.Duration) time.Duration {
	if at == never {
		return never
	}
	return at - event
}

// sampleAt is the index of the last sample up to a time.
func sampleAt(samples []Sample, at time.Duration) int {
	last := 0
	for i := range samples {
		if samples[i].At <= at {
			last = i
		}
	}
	return last
}
