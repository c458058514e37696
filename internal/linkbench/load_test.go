package linkbench_test

import (
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ncp-testbed/internal/linkbench"
	"ncp-testbed/internal/plan"
	"ncp-testbed/internal/test/testnet"
)

func TestLoadIsCountedAndTimed(t *testing.T) {
	n := testnet.New(t,
		testnet.Link{Name: "one", Plan: map[string]any{"delay_ms": 5}},
		testnet.Link{Name: "lossy", Plan: map[string]any{"ab": map[string]any{"loss": 0.5}}},
	)
	n.Relay(t)
	p, err := plan.Read(n.Plan)
	if err != nil {
		t.Fatal(err)
	}
	found, err := linkbench.Load(p.Links, linkbench.LoadOptions{
		Namespaces: n.Namespaces(), PPS: 500, Duration: time.Second,
	})
	if errors.Is(err, unix.EPERM) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range found.Directions {
		if d.Sent != 500 {
			t.Errorf("%s %s: %d sent, want 500", d.Link, d.Direction, d.Sent)
		}
		if lossy := d.Link == "lossy" && d.Direction == "ab"; lossy != (d.Received < d.Sent) || d.Received < 150 {
			t.Errorf("%s %s: %d of %d received", d.Link, d.Direction, d.Received, d.Sent)
		}
	}
	if found.Samples < 60 || found.ExtraDelayP50MS <= 0 {
		t.Errorf("%d samples, extra delay %v ms", found.Samples, found.ExtraDelayP50MS)
	}
}
