package sim

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"ncp-testbed/internal/linkmodel"
	"ncp-testbed/ncp-agent/policy"
)

// Everything that can be random is, and two runs are the same to the last
// count.
func TestSameSeedSameResult(t *testing.T) {
	t.Parallel()
	for _, rule := range policy.Names() {
		run := transferOver([]path{{1024, 50, .05}, {300, 120, .1}, {2000, 5, 0}}, dropTail, rule, 2<<20)
		for i := range run.Links {
			run.Links[i].AB.JitterMS, run.Links[i].AB.JitterReorders = 5, true
			run.Links[i].AB.Duplicate = 0.02
		}
		first, second := simulate(t, run), simulate(t, run)
		if !first.Done() {
			t.Fatalf("%s: not done at %v", rule, first.EndedAt)
		}
		if !reflect.DeepEqual(first, second) {
			t.Errorf("%s: two runs of one seed differ", rule)
		}
		run.Seed = 2
		if other := simulate(t, run); reflect.DeepEqual(first.Links, other.Links) {
			t.Errorf("%s: two seeds gave one result", rule)
		}
	}
}

func TestRefusesWhatMakesNoSense(t *testing.T) {
	good := func() Run { return transferOver([]path{{1024, 50, 0}}, tinyQueue, "nkp24", 1<<20) }
	for want, change := range map[string]func(*Run){
		`no link "nowhere"`:    func(r *Run) { r.Transfers[0].Paths[0] = []string{"nowhere"} },
		"paths for":            func(r *Run) { r.Transfers[0].Paths = nil },
		"without a link":       func(r *Run) { r.Transfers[0].Paths[0] = nil },
		"no window policy":     func(r *Run) { r.Transfers[0].Sender.Policy = "reno" },
		"only its first":       func(r *Run) { r.Transfers[0].Paths[0] = []string{"link1", "link1"} },
		`no link "gone"`:       func(r *Run) { r.Events = []Event{{Link: "gone", Set: &linkmodel.Change{}}} },
		`no transfer "absent"`: func(r *Run) { r.Events = []Event{{Transfer: "absent", PauseRead: time.Second}} },
		"no connection 7":      func(r *Run) { r.Events = []Event{{Transfer: "s", Connection: 7, PauseRead: time.Second}} },
	} {
		run := good()
		change(&run)
		if _, err := Simulate(run); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// A packet with a flipped bit crosses the link and is gone: no end sees it, and it is sent again.
func TestCorruptPacketsDoNotArrive(t *testing.T) {
	t.Parallel()
	run := transferOver([]path{{1024, 50, 0}}, tinyQueue, "nkp24", 2<<20)
	run.Links[0].AB.Corrupt = 0.05
	damaged := simulate(t, run)
	if !damaged.Done() {
		t.Fatalf("not done at %v", damaged.EndedAt)
	}
	run.Links[0].AB.Corrupt = 0
	whole := simulate(t, run)
	// 2048 packets: 108 of those sent by the time that all have arrived; 5 standard deviations are 50.
	more := damaged.Transfers[0].Sender.Connections[0].Lost - whole.Transfers[0].Sender.Connections[0].Lost
	if more < 58 {
		t.Errorf("%d packets more were sent again, want about 108", more)
	}
}
