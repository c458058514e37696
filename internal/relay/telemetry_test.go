package relay_test

import (
	"encoding/json"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"ncp-testbed/internal/relay"
	"ncp-testbed/internal/test/testnet"
)

var delay = regexp.MustCompile(`achieved_delay_ms=([0-9.e+]+)`)

func TestTelemetryAndResult(t *testing.T) {
	r := start(t, testnet.Link{Name: "k", Plan: map[string]any{"delay_ms": 5, "loss": 0.5}})
	r.carry(t, 500, 200, time.Millisecond)
	r.stop()
	content, err := os.ReadFile(r.spool)
	if err != nil {
		t.Fatal(err)
	}
	text := string(content)
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) < 10 || !strings.HasSuffix(text, "\n") {
		t.Fatalf("%d lines of telemetry", len(lines))
	}
	achieved, leastMS := 0, math.Inf(1)
	for _, line := range lines {
		if !strings.HasPrefix(line, "link,direction=") || !strings.Contains(line, ",link=k,middle=relay,run=test,scenario=test ") ||
			!strings.Contains(line, "delay_ms=5,loss=0.5,") {
			t.Fatalf("a line of telemetry: %s", line)
		}
		if found := delay.FindStringSubmatch(line); found != nil && strings.Contains(line, "achieved_loss=0.") {
			// Never less than was asked; how much more is the machine's affair, in most of the lines.
			ms, err := strconv.ParseFloat(found[1], 64)
			if err != nil || ms < 4.999 {
				t.Errorf("delay in %s", line)
			}
			leastMS = min(leastMS, ms)
			achieved++
		}
	}
	if achieved < 5 || leastMS > 6 {
		t.Errorf("%d lines with what was achieved, a delay of at least %v ms: %s", achieved, leastMS, text)
	}
	result := relay.Result{Schema: 1, Links: r.meter.Results()}
	encoded, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	ab := r.result(t, "k", "ab")
	if ab.Frames != 500 || ab.Sent+ab.Lost != 500 || ab.LatenessUS.P99 < ab.LatenessUS.P50 || ab.LatenessUS.Max < ab.LatenessUS.P99 {
		t.Errorf("result %s", encoded)
	}
}
