package linkmodel

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// change is one to the given keys and values.
func change(keys string) *Change {
	c := &Change{}
	if err := json.Unmarshal([]byte("{"+keys+"}"), c); err != nil {
		panic(err)
	}
	return c
}

// asked are the given properties, and no others.
func asked(keys string) Properties { return Properties{}.Apply(change(keys)) }

func evenly(n int, gap time.Duration) []arrival {
	arrivals := make([]arrival, n)
	for i := range arrivals {
		arrivals[i] = arrival{time.Duration(i) * gap, 1000}
	}
	return arrivals
}

// Frames under way when a property changes are neither lost nor made to wait longer, and the property can go
// back to zero.
func TestChangeOfALiveLinkKeepsWhatIsUnderWay(t *testing.T) {
	got := pass(Properties{DelayMS: 100}, 1, "k", evenly(100, 10*ms), 0, map[int]Change{
		30: *change(`"delay_ms": 200`), 60: *change(`"delay_ms": 0`),
	})
	if len(got.delivered) != 100 {
		t.Fatalf("%d of 100 frames delivered", len(got.delivered))
	}
	for _, d := range got.delivered {
		delay := d.Due - d.Arrival
		switch {
		case d.Frame < 30 && delay != 100*ms, d.Frame >= 30 && d.Frame < 60 && delay != 200*ms:
			t.Errorf("frame %d took %d ms", d.Frame, delay/ms)
		case d.Frame >= 80 && delay != 0:
			t.Errorf("frame %d took %d ms, want none: all frames with more delay have arrived", d.Frame, delay/ms)
		}
	}
}

func TestLossGoesBackToZero(t *testing.T) {
	got := pass(Properties{}, 1, "k", evenly(300, ms), 0, map[int]Change{100: *change(`"loss": 1`), 200: *change(`"loss": 0`)})
	if lost := got.dropped[Lost]; len(lost) != 100 || lost[0] != 100 || lost[99] != 199 {
		t.Errorf("lost %d frames %v, want those from 100 to 199", len(lost), lost)
	}
}

func TestChangeOfRateKeepsTheQueue(t *testing.T) {
	// 100 frames of 10 ms each wait; after 205 ms, 20 and a half are sent, and the rest goes twice as fast.
	d := NewPipe(Properties{FramesPPS: 100}, 1, "k", AB, 0, Hooks[int]{})
	for i := range 100 {
		d.Push(i, 1000, 0)
	}
	d.Set(205*ms, change(`"frames_pps": 200`))
	var last Delivery[int]
	n := 0
	for f, ok := d.Pop(10_000 * ms); ok; f, ok = d.Pop(10_000 * ms) {
		last = *f
		n++
	}
	if want := time.Duration(205*ms) + 795*ms/2; n != 100 || abs(last.Due-want) > 1000 {
		t.Errorf("%d frames, the last at %d, want 100 and %d", n, last.Due, want)
	}
}

// Changes of something else, however frequent, cost a slow link none of its rate.
func TestFrequentChangesCostNoRate(t *testing.T) {
	d := NewPipe(Properties{FramesPPS: 10}, 1, "k", AB, 0, Hooks[int]{})
	for i := range 11 {
		d.Push(i, 1000, 0)
	}
	for now := time.Duration(0); now < 1000*ms; now += 5 * ms {
		d.Set(now, change(`"delay_ms": 1`))
	}
	d.Pop(1001 * ms)
	if queued := d.queue.count; queued != 1 {
		t.Errorf("%d frames wait after 1 s, want 1 of 11 at 10 frames/s", queued)
	}
}

func TestTakingTheRateAwayEmptiesTheQueue(t *testing.T) {
	d := NewPipe(Properties{FramesPPS: 1}, 1, "k", AB, 0, Hooks[int]{})
	for i := range 10 {
		d.Push(i, 1000, 0)
	}
	d.Set(100*ms, change(`"frames_pps": 0`))
	for i := range 10 {
		if f, ok := d.Pop(100 * ms); !ok || f.Frame != i || f.Due != 100*ms {
			t.Fatalf("frame %d is not out at the time of the change: %+v", i, f)
		}
	}
}

func TestOneRateReplacesTheOther(t *testing.T) {
	p := asked(`"rate_bps": 1e6, "loss": 0.1`)
	p = p.Apply(change(`"frames_pps": 5, "gilbert_elliott": {"enter": 0.1, "leave": 0.1, "loss_bad": 1}`))
	if p.RateBPS != 0 || p.FramesPPS != 5 || p.Loss != 0 || p.MeanLoss() != 0.5 {
		t.Errorf("%+v: the rate in bits and the independent loss are still there", p)
	}
	if p = p.Apply(change(`"loss": 0`)); p.MeanLoss() != 0 {
		t.Errorf("%+v: loss does not go back to zero", p)
	}
}

func TestBadChangesAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		`{"dely_ms": 1}`:                       `"dely_ms": no such property`,
		`{"delay_ms": -1}`:                     "delay_ms: -1",
		`{"loss": 1.5}`:                        "loss: 1.5",
		`{"loss": "1%"}`:                       "loss",
		`{"rate_bps": 1, "frames_pps": 1}`:     "rate_bps, frames_pps, trace_ms",
		`{"queue": {"mode": "red"}}`:           `queue.mode: "red"`,
		`{"queue": {"packets": -1}}`:           "queue.packets",
		`{"jitter": "pareto"}`:                 `jitter: "pareto"`,
		`{"trace_ms": [5, 4]}`:                 "trace_ms[1]",
		`{"trace_ms": [0]}`:                    "takes time",
		`{"trace_ms": []}`:                     "no opportunity",
		`{"gilbert_elliott": {"enter": 2}}`:    "gilbert_elliott.enter",
		`{"loss": 0.1, "gilbert_elliott": {}}`: "loss, gilbert_elliott",
		`{"delay_ms": 1} {}`:                   "after top-level value",
		`{"frames_pps": 1e-9}`:                 "frames_pps: 1e-09",
		`{"burst_bytes": -1}`:                  "burst_bytes",
		`[]`:                                   "want an object",
		`{"queue": {"mode": 1}}`:               "queue.mode: number, want string",
		`{"queue": {"bytes": 1}}`:              `unknown field "bytes"`,
	} {
		if err := json.Unmarshal([]byte(text), &Change{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one that says %q", text, err, want)
		}
	}
}

func FuzzChange(f *testing.F) {
	f.Add([]byte(`{"rate_bps": 8790016, "delay_ms": 50, "loss": 0.01, "queue": {"mode": "codel", "packets": 2}}`))
	f.Add([]byte(`{"trace_ms": [1, 2, 2, 9], "jitter": "samples", "jitter_samples_ms": [0, 1.5]}`))
	f.Add([]byte(`{"gilbert_elliott": {"enter": 0.1, "leave": 0.5, "loss_bad": 1}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var c, c2 Change
		if err := json.Unmarshal(text, &c); err != nil {
			return
		}
		// What is accepted survives being written, and works.
		again, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(again, &c2); err != nil || !reflect.DeepEqual(c, c2) {
			t.Fatalf("%s became %s (%v)", text, again, err)
		}
		d := NewPipe(Properties{}.Apply(&c), 1, "k", AB, 0, Hooks[int]{
			Drop: func(int, Cause) {}, Copy: func(frame int) (int, bool) { return frame, true },
		})
		for i := range 5 {
			d.Push(i, 1500, time.Duration(i)*ms)
		}
		last := time.Duration(0)
		for next, ok := d.Next(); ok; next, ok = d.Next() {
			if next < last {
				t.Fatalf("time goes back from %d to %d", last, next)
			}
			last = next
			d.Pop(next)
		}
		counts := d.Counts()
		if counts.In+counts.Duplicated != counts.Out+counts.Lost+counts.QueueFull+counts.QueueDelayed {
			t.Fatalf("counts do not add up: %+v", counts)
		}
	})
}

func TestTrace(t *testing.T) {
	// Opportunities at 1, 1, 5 and 10 ms, over and over.
	trace, err := ParseTrace([]byte("1\n1\n5\n10\n"))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		arrivals []arrival
		due      []time.Duration
	}{
		"one frame each, then the next cycle": {
			slices.Repeat([]arrival{{0, 1504}}, 6), []time.Duration{1, 1, 5, 10, 11, 11},
		},
		"small frames share an opportunity":       {slices.Repeat([]arrival{{0, 500}}, 4), []time.Duration{1, 1, 1, 1}},
		"a large frame takes several":             {[]arrival{{0, 4000}, {0, 512}}, []time.Duration{5, 5}},
		"an opportunity without a frame is lost":  {[]arrival{{2 * ms, 1504}, {2 * ms, 1504}}, []time.Duration{5, 10}},
		"one that arrives just then is in time":   {[]arrival{{5 * ms, 1504}}, []time.Duration{5}},
		"one that arrives many cycles on is, too": {[]arrival{{1002 * ms, 1504}}, []time.Duration{1005}},
	} {
		got := pass(Properties{Trace: trace}, 1, "k", c.arrivals, 0, nil)
		var due []time.Duration
		for _, d := range got.delivered {
			due = append(due, d.Due/ms)
		}
		if !slices.Equal(due, c.due) {
			t.Errorf("%s: due at %v ms, want %v", name, due, c.due)
		}
	}
}

func FuzzParseTrace(f *testing.F) {
	f.Add([]byte("1\n1\n5\n10\n"))
	f.Add([]byte("0\n\n 7 \r\n"))
	f.Add([]byte("-1\n99999999999999999999\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		trace, err := ParseTrace(text)
		if err != nil {
			return
		}
		cursor := traceCursor{left: TraceOpportunityBytes}
		last := time.Duration(0)
		for i := range 20 {
			var due time.Duration
			arrival := last + time.Duration(i)*ms
			due, cursor = cursor.serve(trace, arrival, 1000)
			if due < arrival || due < last || due > arrival+2*trace.period() {
				t.Fatalf("a frame that arrived at %d after one that left at %d leaves at %d", arrival, last, due)
			}
			last = due
		}
	})
}

func FuzzParseSamples(f *testing.F) {
	f.Add([]byte("0.5\n\n-1\r\n"))
	f.Add([]byte("1e400\nNaN\ninf\n0x1p3\n1_0\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		samples, err := ParseSamples(text)
		if err != nil {
			return
		}
		if len(samples) == 0 {
			t.Fatal("no samples and no error")
		}
		// A property takes them or names the one that it does not; what it takes is a delay.
		keys, err := json.Marshal(map[string]any{"jitter": JitterSamples, "jitter_samples_ms": samples})
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		var c Change
		if err := json.Unmarshal(keys, &c); err != nil {
			return
		}
		d := NewPipe(Properties{}.Apply(&c), 1, "k", AB, 0, Hooks[int]{
			Drop: func(int, Cause) {}, Copy: func(frame int) (int, bool) { return frame, true },
		})
		d.Push(1, 1500, ms)
		if next, ok := d.Next(); !ok || next < ms {
			t.Fatalf("%q: a frame that arrived at %d leaves at %d, %v", text, ms, next, ok)
		}
	})
}
