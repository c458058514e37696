package probe_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"ncp-testbed/internal/plan"
	"ncp-testbed/internal/probe"
	"ncp-testbed/internal/test/testnet"
)

// relayed starts ncp-link relay, as a program of its own, between the hosts of a network.
func relayed(t *testing.T, links ...testnet.Link) (*plan.Plan, probe.Options) {
	t.Helper()
	n := testnet.New(t, links...)
	n.Relay(t)
	p, err := plan.Read(n.Plan)
	if err != nil {
		t.Fatal(err)
	}
	return p, probe.Options{Namespaces: n.Namespaces(), Seconds: 1}
}

func TestLossIsFoundInEitherDirection(t *testing.T) {
	p, options := relayed(t, testnet.Link{Name: "k", RateBPS: 8790016, Plan: map[string]any{
		"delay_ms": 5, "ab": map[string]any{"loss": 0.1}, "ba": map[string]any{"gilbert_elliott": map[string]any{
			"enter": 0.02, "leave": 0.5, "loss_bad": 1,
		}},
	}})
	found, err := probe.Run(context.Background(), p, options)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{0.1, 0.02 / 0.52} {
		m := found[i]
		// Bursts of two spread the count like half as many independent losses, or a little more.
		deviation := 4 * math.Sqrt(want*(1-want)*3/float64(m.Sent))
		if m.Sent < 1000 || math.Abs(m.Loss-want) > deviation {
			t.Errorf("%s: loss %v of %d, want %v ± %v", m.Direction, m.Loss, m.Sent, want, deviation)
		}
		if m.RateBPS == nil || math.Abs(*m.RateBPS/8790016-1) > 0.02 {
			t.Errorf("%s: rate %+v: what is lost past the shaper must not count against it", m.Direction, m)
		}
	}
}

func TestDeadDirectionIsAFinding(t *testing.T) {
	p, options := relayed(t, testnet.Link{Name: "k", RateBPS: 8790016, Plan: map[string]any{
		"delay_ms": 5, "ba": map[string]any{"loss": 1.0},
	}})
	found, err := probe.Run(context.Background(), p, options)
	if err != nil {
		t.Fatal(err)
	}
	if ab := found[0]; ab.Loss != 0 || ab.DelayMS == nil || ab.RateBPS == nil {
		t.Errorf("the direction that works: %+v", ab)
	}
	if ba := found[1]; ba.Loss != 1 || ba.Sent == 0 || ba.Received != 0 || ba.DelayMS != nil || ba.RateBPS != nil {
		t.Errorf("the direction that loses all: %+v", ba)
	}
}

func TestUnknownHostAndCancelledProbe(t *testing.T) {
	p, options := relayed(t, testnet.Link{Name: "k", Plan: map[string]any{"delay_ms": 5}})
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if _, err := probe.Run(ctx, p, options); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a cancelled probe ends with %v", err)
	}
	delete(options.Namespaces, "h2")
	if _, err := probe.Run(context.Background(), p, options); err == nil || !strings.Contains(err.Error(), "--netns h2=PATH") {
		t.Errorf("without a host's namespace: %v", err)
	}
}
