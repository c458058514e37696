package overlay

import (
	"encoding/json"
	"reflect"
	"testing"

	"ncp-testbed/ncp-agent/sim"
)

func small(seed uint64) Parameters {
	p := Default(6, seed)
	p.Seconds, p.StartsWithinS, p.UpS = 14, 2, 10
	return p
}

func run(t *testing.T, p Parameters) *Report {
	t.Helper()
	r, err := Run(p)
	if err != nil {
		t.Fatal(err)
	}
	r.Cost = Cost{}
	return r
}

func TestSameSeedSameReport(t *testing.T) {
	first, second := run(t, small(1)), run(t, small(1))
	if !reflect.DeepEqual(first, second) {
		t.Error("two runs of one seed differ")
	}
	if other := run(t, small(2)); reflect.DeepEqual(first.Relays, other.Relays) {
		t.Error("two seeds gave one overlay")
	}
	if _, err := json.Marshal(first); err != nil {
		t.Error(err) // a number that is none
	}
}

// What comes of an overlay does not depend on how many cores simulate it.
func TestOneOverlayOnAnyNumberOfCores(t *testing.T) {
	p := small(4)
	p.Seconds, p.StartsWithinS = 5, 1
	var results []*sim.Result
	for _, workers := range []int{1, 2, 4} {
		run := p.generate().run
		run.Workers = workers
		result, err := sim.Simulate(run)
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, result)
	}
	if !reflect.DeepEqual(results[0], results[1]) || !reflect.DeepEqual(results[0], results[2]) {
		t.Error("the results differ")
	}
	if results[0].Transfers[0].Received == 0 {
		t.Error("nothing arrived")
	}
}

// Relays carry no more than their rate, and sessions get something.
func TestReportIsPlausible(t *testing.T) {
	r := run(t, small(3))
	connections := 0
	for i, relay := range r.Relays {
		connections += relay.Connections
		if relay.Use > 1.1 { // what waited in the queue comes on top
			t.Errorf("relay %d carried %.2f times its rate", i, relay.Use)
		}
		if relay.Jain > 1.000001 {
			t.Errorf("relay %d: Jain's index %v", i, relay.Jain)
		}
	}
	if want := 6 * 8; connections != want {
		t.Errorf("%d connections cross relays, want %d", connections, want)
	}
	for i, s := range r.Sessions {
		if s.GoodputBPS <= 0 || s.EvenBPS <= 0 {
			t.Errorf("session %d: %.0f bit/s, %.0f if all shared evenly", i, s.GoodputBPS, s.EvenBPS)
		}
	}
}

func TestRefusesWhatMakesNoSense(t *testing.T) {
	for _, p := range []Parameters{Default(0, 1), {Sessions: 1, Seconds: 5, StartsWithinS: 5}} {
		if _, err := Run(p); err == nil {
			t.Errorf("%+v was run", p)
		}
	}
}

// Draws stay within the distribution's ends, and half of them below its median.
func TestPareto(t *testing.T) {
	p := Default(4000, 1)
	n := p.generate()
	below := 0
	for _, r := range n.relays {
		if r.ratePPS < p.Rate.Least || r.ratePPS > p.Rate.Most {
			t.Fatalf("a relay of %v packets/s", r.ratePPS)
		}
		if r.ratePPS < 50.8 { // 32 · 2^(1/1.5)
			below++
		}
	}
	if share := float64(below) / float64(len(n.relays)); share < 0.47 || share > 0.53 {
		t.Errorf("%.0f%% below the median", 100*share)
	}
}
