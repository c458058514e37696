package sim

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"ncp-testbed/internal/linkmetrics"
	"ncp-testbed/internal/linkmodel"
	"ncp-testbed/internal/timing"
	"ncp-testbed/ncp-agent/policy"
	"ncp-testbed/ncp-agent/session"
)

// Whatever is drawn, and whatever number of cores it is given, a simulation has
// one result, and tells its observer the same in the same order.
func TestAnyNumberOfCoresGivesOneResult(t *testing.T) {
	t.Parallel()
	const seeds = 60
	divided, done := 0, 0
	for seed := range uint64(seeds) {
		_, alone, told := observed(t, seed, 1)
		for _, workers := range []int{2, 5} {
			parts, result, alsoTold := observed(t, seed, workers)
			if !reflect.DeepEqual(alone, result) {
				t.Errorf("seed %d: the result on %d cores differs", seed, workers)
			}
			if !reflect.DeepEqual(told, alsoTold) {
				t.Errorf("seed %d: what is told on %d cores differs", seed, workers)
			}
			if parts > 1 {
				divided++
			}
		}
		if alone.Done() {
			done++
		}
	}
	// Half of them at least are what this is about, and some come to their end before the time is up.
	if divided < seeds || done < seeds/10 {
		t.Errorf("%d runs of %d were in parts, %d of %d came to their end", divided, 2*seeds, done, seeds)
	}
}

// observed returns how many parts a run had, its result, and all that its
// observer was told.
func observed(t *testing.T, seed uint64, workers int) (parts int, result *Result, told []string) {
	t.Helper()
	say := func(format string, values ...any) { told = append(told, fmt.Sprintf(format, values...)) }
	run := drawn(t, seed)
	run.Workers = workers
	run.Observer = Observer{
		Established: func(now time.Duration, transfer int) { say("%v: %d is established", now, transfer) },
		Event:       func(now time.Duration, index int) { say("%v: event %d", now, index) },
		Sample: func(now time.Duration, transfer int, sender, receiver *session.Stats) {
			say("%v: %d is at %+v %+v", now, transfer, *sender, *receiver)
		},
		Links: func(now time.Duration, states []linkmetrics.State) { say("%v: %+v", now, states) },
	}
	w, err := newWorld(&run)
	if err != nil {
		t.Fatal(err)
	}
	w.worthwhile = 0
	if err := w.simulate(); err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	return len(w.parts), w.result(), told
}

// A sample at a time is of the first moment at it, however many follow.
func TestSamplesAreOfTheFirstMoment(t *testing.T) {
	const start = 300 * time.Millisecond
	run := transferOver([]path{{0, 0, 0}}, tinyQueue, "nkp24", 1<<20)
	run.Transfers[0].Start = start
	r := simulate(t, run)
	if r.Transfers[0].EstablishedAt != start {
		t.Fatalf("established at %v, want at once", r.Transfers[0].EstablishedAt)
	}
	i := slices.IndexFunc(r.Samples, func(s Sample) bool { return s.At == start })
	if sender, receiver := r.Samples[i].Sender.State, r.Samples[i].Receiver.State; sender != session.Dialing || receiver != session.Idle {
		t.Errorf("the sample is of a sender that is %v, a receiver that is %v", sender, receiver)
	}
}

// A part that runs ahead further than its links' delays allow is found out.
func TestPartsThatRunTooFarAheadAreNoticed(t *testing.T) {
	run := dumbbell(4, 0, time.Second)
	run.Workers = 2
	w, err := newWorld(&run)
	if err != nil {
		t.Fatal(err)
	}
	w.ahead += 20 * time.Millisecond
	if err := w.simulate(); err == nil || !strings.Contains(err.Error(), "comes to a part that is at") {
		t.Errorf("error %v", err)
	}
}

func TestWhatIsApart(t *testing.T) {
	apart := func(run *Run) (*division, []int) {
		known := newNames(run)
		events, err := known.events()
		if err != nil {
			t.Fatal(err)
		}
		var all [][]route
		for i := range run.Transfers {
			r, err := known.routes(&run.Transfers[i])
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, r)
		}
		d := divide(run, all, events, 4)
		return d, append(slices.Clone(d.transfers), d.directions...)
	}
	shared := dumbbell(4, 0, time.Second)
	if d, _ := apart(&shared); d.parts < 2 || d.ahead != 5*time.Millisecond {
		t.Errorf("%d parts, %v ahead, want several and the access links' delay", d.parts, d.ahead)
	}
	nearer := *change(t, `{"delay_ms": 2}`)
	shared.Events = []Event{{At: time.Hour, Link: "access1", Set: &nearer}}
	if d, _ := apart(&shared); d.ahead != 2*time.Millisecond {
		t.Errorf("%v ahead, want what an event changes the delay to", d.ahead)
	}
	for i := range shared.Links {
		shared.Links[i].AB.DelayMS, shared.Links[i].BA.DelayMS = 0, 0
	}
	if d, all := apart(&shared); d.parts != 1 || slices.Max(all) != 0 {
		t.Errorf("%d parts of a network without delay", d.parts)
	}
	unlike := dumbbell(2, 0, time.Second)
	for i := range unlike.Transfers {
		unlike.Transfers[i].Paths = [][]string{{unlike.Transfers[i].Name}}
	}
	if d, _ := apart(&unlike); d.parts != 2 || d.ahead != timing.Never {
		t.Errorf("%d parts, %v ahead, want one for each transfer, which never meet", d.parts, d.ahead)
	}
}

func change(t *testing.T, text string) *linkmodel.Change {
	t.Helper()
	c := &linkmodel.Change{}
	if err := json.Unmarshal([]byte(text), c); err != nil {
		t.Fatal(err)
	}
	return c
}

// drawn makes a network by chance: hosts' own links and links that are shared,
// with and without delay, with all that a link can do, and events at any time.
func drawn(t *testing.T, seed uint64) Run {
	r := rand.New(rand.NewPCG(seed, 3))
	run := Run{Seed: seed, Until: time.Duration(1+r.IntN(6000)) * time.Millisecond, SampleInterval: 300 * time.Millisecond}
	link := func(name string, mode string) {
		p := linkmodel.Properties{
			FramesPPS: float64(r.IntN(4) * 500), DelayMS: []float64{0, 0.2, 1, 2, 2, 7.3, 20}[r.IntN(7)],
			Queue: linkmodel.Queue{Mode: mode, Packets: 2 + r.IntN(20)},
		}
		if r.IntN(3) == 0 {
			p.Loss, p.Duplicate, p.Corrupt = 0.02, 0.02, 0.02
		}
		if r.IntN(4) == 0 {
			p.JitterMS, p.JitterReorders = p.DelayMS/2, r.IntN(2) == 0
		}
		run.Links = append(run.Links, Link{Name: name, AB: p, BA: p})
	}
	shared := 1 + r.IntN(5)
	for i := range shared {
		link(fmt.Sprint("shared", i), []string{linkmodel.QueueDropTail, linkmodel.QueueCoDel, linkmodel.QueueDropHead}[r.IntN(3)])
	}
	for i := range 1 + r.IntN(6) {
		x := Transfer{Name: fmt.Sprint("s", i), Bytes: int64(r.IntN(1 << 20)), Start: time.Duration(r.IntN(3)) * 400 * time.Millisecond}
		out, in := fmt.Sprint("out", i), fmt.Sprint("in", i)
		link(out, linkmodel.QueueBackPressure)
		link(in, linkmodel.QueueDropTail)
		run.Links[len(run.Links)-2].BA.Queue.Mode = linkmodel.QueueDropTail
		for range 1 + r.IntN(3) {
			path := []string{out, fmt.Sprint("shared", r.IntN(shared)), fmt.Sprint("shared", r.IntN(shared)), in}
			if path[1] == path[2] {
				path = path[:1+r.IntN(2)]
			}
			x.Paths = append(x.Paths, path)
		}
		ids := make([]string, len(x.Paths))
		for c := range ids {
			ids[c] = fmt.Sprint(c)
		}
		x.Sender, x.Receiver = session.Default(ids...), session.Default(ids...)
		x.Sender.Policy = policy.Names()[r.IntN(len(policy.Names()))]
		x.Receiver.Policy = x.Sender.Policy
		run.Transfers = append(run.Transfers, x)
	}
	for range r.IntN(8) {
		e := Event{At: time.Duration(r.IntN(3000)) * time.Millisecond, Link: run.Links[r.IntN(len(run.Links))].Name}
		e.Direction = []linkmodel.Direction{linkmodel.AB, linkmodel.BA, ""}[r.IntN(3)]
		switch r.IntN(3) {
		case 0:
			up := r.IntN(2) == 0
			e.Up = &up
		case 1:
			e.Set = change(t, fmt.Sprintf(`{"delay_ms": %d, "loss": 0.01}`, 1+r.IntN(5)))
		default:
			e = Event{At: e.At, Transfer: run.Transfers[r.IntN(len(run.Transfers))].Name, PauseRead: 300 * time.Millisecond}
		}
		run.Events = append(run.Events, e)
	}
	return run
}
