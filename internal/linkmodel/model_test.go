package linkmodel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

const ms = time.Duration(nsPerMs)

// arrival is a frame on its way into a direction under test; its number is its identity.
type arrival struct {
	at    time.Duration
	bytes int
}

// passage is all that a direction did with a list of arrivals.
type passage struct {
	delivered []Delivery[int]
	dropped   map[Cause][]int
	refused   []int
	direction *Pipe[int]
	clones    int
}

// pass drives a direction: step is how late and how seldom the caller comes to look, 0 for at once.
func pass(p Properties, seed uint64, name string, arrivals []arrival, step time.Duration, changes map[int]Change) *passage {
	r := &passage{dropped: map[Cause][]int{}}
	d := NewPipe(p, seed, name, AB, 0, Hooks[int]{
		Drop: func(frame int, cause Cause) { r.dropped[cause] = append(r.dropped[cause], frame) },
		Copy: func(frame int) (int, bool) { r.clones++; return frame, true },
	})
	r.direction = d
	drain := func(now time.Duration) {
		for {
			next, ok := d.Next()
			if !ok || next > now {
				break
			}
			look := next
			if step > 0 {
				look = min(now, next+step)
			}
			for {
				delivery, ok := d.Pop(look)
				if !ok {
					break
				}
				r.delivered = append(r.delivered, *delivery)
			}
		}
	}
	for i, a := range arrivals {
		drain(a.at)
		if c, ok := changes[i]; ok {
			d.Set(a.at, &c)
		}
		if !d.Push(i, a.bytes, a.at) {
			r.refused = append(r.refused, i)
		}
	}
	drain(math.MaxInt64)
	return r
}

// burstyArrivals are frames of 64 to 1514 bytes in bursts and gaps.
func burstyArrivals(r *rand.Rand, n int, meanGap time.Duration) []arrival {
	arrivals := make([]arrival, n)
	var at time.Duration
	for i := range arrivals {
		if r.IntN(4) == 0 {
			at += time.Duration(r.ExpFloat64() * 4 * float64(meanGap))
		}
		arrivals[i] = arrival{at, 64 + r.IntN(1451)}
	}
	return arrivals
}

// randomProperties are any that make sense together.
func randomProperties(r *rand.Rand) Properties {
	p := Properties{DelayMS: float64(r.IntN(50)), Queue: Queue{
		Mode:    []string{"", QueueDropTail, QueueDropHead, QueueCoDel, QueueBackPressure}[r.IntN(5)],
		Packets: r.IntN(40),
	}}
	switch r.IntN(4) {
	case 0:
		p.RateBPS, p.BurstBytes = 1e5+r.Float64()*1e7, r.IntN(2)*4000
	case 1:
		p.FramesPPS = 10 + r.Float64()*2000
	case 2:
		p.Trace = Trace{at: []time.Duration{0, ms, ms, 7 * ms, 8 * ms}}
	}
	share := func() float64 { return max(0, r.Float64()-0.6) }
	p.Loss, p.Duplicate, p.Reorder, p.Corrupt = share(), share(), share(), share()
	if r.IntN(2) == 0 {
		p.JitterMS, p.JitterKind = float64(r.IntN(30)), []string{JitterUniform, JitterNormal}[r.IntN(2)]
		p.JitterReorders = r.IntN(2) == 0
	}
	if r.IntN(4) == 0 {
		p.GilbertElliott = &GilbertElliott{Enter: 0.05, Leave: 0.3, LossBad: 0.9}
	}
	return p
}

func randomChange(r *rand.Rand) Change {
	p := randomProperties(r)
	c := Change{set: []string{"queue", "delay_ms", "loss", "jitter_ms"}, to: p}
	switch r.IntN(4) {
	case 0:
		c.set = append(c.set, "rate_bps")
	case 1:
		c.set = append(c.set, "frames_pps")
	case 2:
		if !p.Trace.IsZero() {
			c.set = append(c.set, "trace_ms")
		}
	}
	return c
}

func TestEveryFrameIsAccountedFor(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		arrivals := burstyArrivals(r, 500, ms)
		changes := map[int]Change{}
		for range r.IntN(5) {
			changes[r.IntN(len(arrivals))] = randomChange(r)
		}
		got := pass(randomProperties(r), seed, "k", arrivals, time.Duration(r.IntN(3))*5*ms, changes)
		fates := make([]int, len(arrivals))
		for _, d := range got.delivered {
			fates[d.Frame]++
		}
		for _, frames := range append([][]int{got.refused}, got.dropped[Lost], got.dropped[QueueFull], got.dropped[QueueDelayed]) {
			for _, frame := range frames {
				fates[frame]++
			}
		}
		total := 0
		for frame, n := range fates {
			if n != 1 && n != 2 {
				t.Fatalf("seed %d: frame %d has %d fates", seed, frame, n)
			}
			total += n
		}
		if total != len(arrivals)+got.clones {
			t.Fatalf("seed %d: %d fates of %d frames and %d copies", seed, total, len(arrivals), got.clones)
		}
		c := got.direction.Counts()
		held, _ := got.direction.Held()
		if c.In+c.Duplicated != c.Out+c.Lost+c.QueueFull+c.QueueDelayed+uint64(held) || held != 0 {
			t.Fatalf("seed %d: counts do not add up: %+v, %d held", seed, c, held)
		}
		if int(c.In) != len(arrivals)-len(got.refused) || int(c.Refused) != len(got.refused) {
			t.Fatalf("seed %d: %d frames and %d refused counted as %+v", seed, len(arrivals), len(got.refused), c)
		}
	}
}

func TestNothingIsLostThatWasNotAsked(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	arrivals := burstyArrivals(r, 2000, ms)
	got := pass(asked(`"rate_bps": 3e6, "delay_ms": 20, "jitter_ms": 15`), 1, "k", arrivals, 0, nil)
	if len(got.delivered) != len(arrivals) {
		t.Fatalf("%d of %d frames delivered", len(got.delivered), len(arrivals))
	}
}

func TestNeverFasterThanTheRate(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 3))
		rate := 1e5 + r.Float64()*2e7
		burst := r.IntN(3) * 3000
		p := Properties{RateBPS: rate, BurstBytes: burst, DelayMS: 10}
		got := pass(p, seed, "k", burstyArrivals(r, 400, time.Duration(4000*8/rate*nsPerS)), time.Duration(r.IntN(2))*3*ms, nil)
		// Over every window from one departure to another: the bytes after the first fit the rate and the bucket.
		for i := range got.delivered {
			bits := 0.0
			for j := i + 1; j < len(got.delivered); j++ {
				bits += 8 * float64(got.delivered[j].Bytes)
				window := float64(got.delivered[j].Due-got.delivered[i].Due) / nsPerS
				if allowed := rate*window + 8*float64(burst) + rate*2e-9; bits > allowed {
					t.Fatalf("seed %d: %v bits in %v s at %v bit/s with a burst of %d bytes", seed, bits, window, rate, burst)
				}
			}
		}
	}
}

func TestBackloggedLinkUsesAllOfItsRate(t *testing.T) {
	for _, late := range []time.Duration{0, 20 * ms} {
		arrivals := slices.Repeat([]arrival{{0, 1073}}, 10_000)
		for name, p := range map[string]Properties{
			"bps": {RateBPS: 8790016, DelayMS: 50}, "pps": {FramesPPS: 1024, DelayMS: 50},
		} {
			got := pass(p, 1, "k", arrivals, late, nil)
			last := got.delivered[len(got.delivered)-1].Due
			want := time.Duration(10_000.0/1024*nsPerS) + 50*ms
			if abs(last-want) > 1000 {
				t.Errorf("%s, looked at %d ms late: the last of 10000 frames is due at %d, want %d", name, late/ms, last, want)
			}
		}
	}
}

func abs(t time.Duration) time.Duration { return max(t, -t) }

// A caller that comes late sees the same due times as one that comes at once.
func TestLatenessChangesNothing(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 4))
		p := randomProperties(r)
		if p.Queue.Mode == QueueBackPressure {
			p.Queue.Mode = QueueCoDel
		}
		arrivals := burstyArrivals(r, 300, ms)
		due := func(step time.Duration) []string {
			var all []string
			for _, d := range pass(p, seed, "k", arrivals, step, nil).delivered {
				all = append(all, fmt.Sprint(d.Frame, d.Due, d.FlipBit))
			}
			slices.Sort(all)
			return all
		}
		if !slices.Equal(due(0), due(13*ms)) {
			t.Fatalf("seed %d: %+v: a late caller sees other due times", seed, p)
		}
	}
}

func TestOrderIsKeptUnlessAskedFor(t *testing.T) {
	inOrder := func(p Properties, changes map[int]Change) bool {
		r := rand.New(rand.NewPCG(5, 5))
		got := pass(p, 5, "k", burstyArrivals(r, 3000, ms/4), 0, changes)
		return slices.IsSortedFunc(got.delivered, func(a, b Delivery[int]) int { return a.Frame - b.Frame })
	}
	for name, p := range map[string]Properties{
		"delay":          {DelayMS: 20},
		"rate":           asked(`"rate_bps": 1e7, "delay_ms": 20, "loss": 0.1, "duplicate": 0.1`),
		"uniform jitter": asked(`"delay_ms": 20, "jitter_ms": 20`),
		"normal jitter":  asked(`"delay_ms": 20, "jitter_ms": 10, "jitter": "normal"`),
	} {
		if !inOrder(p, map[int]Change{1500: *change(`"delay_ms": 1`)}) {
			t.Errorf("%s: frames overtook each other", name)
		}
	}
	for name, p := range map[string]Properties{
		"jitter that reorders": asked(`"delay_ms": 20, "jitter_ms": 20, "jitter_reorders": true`),
		"reorder":              asked(`"delay_ms": 20, "reorder": 0.05`),
	} {
		if inOrder(p, nil) {
			t.Errorf("%s: no frame overtook another", name)
		}
	}
}

func TestSeedDecidesAll(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	arrivals := burstyArrivals(r, 2000, ms)
	p := asked(`"delay_ms": 20, "jitter_ms": 10, "jitter_reorders": true, "loss": 0.1, "reorder": 0.1, "duplicate": 0.1, "corrupt": 0.1`)
	run := func(p Properties, seed uint64, name string) []Delivery[int] {
		return pass(p, seed, name, arrivals, 0, nil).delivered
	}
	first := run(p, 1, "k")
	if !slices.Equal(first, run(p, 1, "k")) {
		t.Error("the same seed gave another outcome")
	}
	if slices.Equal(first, run(p, 2, "k")) {
		t.Error("another seed gave the same outcome")
	}
	if slices.Equal(first, run(p, 1, "other")) {
		t.Error("another link gave the same outcome")
	}
}

// What one property draws must not move what another draws.
func TestPropertiesDrawFromStreamsOfTheirOwn(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	arrivals := burstyArrivals(r, 5000, ms)
	lost := func(p Properties) []int { return pass(p, 1, "k", arrivals, 0, nil).dropped[Lost] }
	plain := lost(asked(`"loss": 0.1`))
	if len(plain) == 0 || !slices.Equal(plain, lost(asked(`"loss": 0.1, "delay_ms": 10, "jitter_ms": 5, "duplicate": 0.2, "reorder": 0.2, "corrupt": 0.2`))) {
		t.Error("jitter, duplication, reordering and corruption changed which frames are lost")
	}
}

// within reports whether a count of n trials is within 4 standard deviations of what a share p gives.
func within(count, n int, p float64) bool {
	return math.Abs(float64(count)-float64(n)*p) < 4*math.Sqrt(float64(n)*p*(1-p))
}

func TestSharesAreMet(t *testing.T) {
	const n = 50_000
	arrivals := make([]arrival, n)
	for i := range arrivals {
		arrivals[i] = arrival{time.Duration(i) * ms, 1000}
	}
	got := pass(asked(`"delay_ms": 5, "loss": 0.1`), 1, "k", arrivals, 0, nil)
	if lost := len(got.dropped[Lost]); !within(lost, n, 0.1) {
		t.Errorf("lost %d of %d, want a tenth", lost, n)
	}
	got = pass(asked(`"delay_ms": 5, "reorder": 0.05, "duplicate": 0.02, "corrupt": 0.03`), 1, "k", arrivals, 0, nil)
	c := got.direction.Counts()
	if !within(int(c.Overtook), n, 0.05) || !within(int(c.Duplicated), n, 0.02) || !within(int(c.Corrupted), n, 0.03) {
		t.Errorf("of %d frames %d overtook, %d were duplicated, %d corrupted", n, c.Overtook, c.Duplicated, c.Corrupted)
	}
	for _, d := range got.delivered {
		if d.FlipBit >= 0 && (d.FlipBit < 8*ethernetHeaderBytes || d.FlipBit >= 8*d.Bytes) {
			t.Fatalf("bit %d of a frame of %d bytes is flipped", d.FlipBit, d.Bytes)
		}
	}
}

func TestGilbertElliottLosesInBursts(t *testing.T) {
	const n = 200_000
	arrivals := make([]arrival, n)
	for i := range arrivals {
		arrivals[i] = arrival{time.Duration(i) * ms, 1000}
	}
	g := &GilbertElliott{Enter: 0.01, Leave: 0.2, LossBad: 1}
	lost := pass(Properties{Impairments: Impairments{FrameLoss: FrameLoss{GilbertElliott: g}}}, 1, "k", arrivals, 0, nil).dropped[Lost]
	bursts := 0
	for i, frame := range lost {
		if i == 0 || frame != lost[i-1]+1 {
			bursts++
		}
	}
	if share := float64(len(lost)) / n; math.Abs(share-g.MeanLoss()) > 0.003 {
		t.Errorf("lost a share of %v, want %v", share, g.MeanLoss())
	}
	if mean := float64(len(lost)) / float64(bursts); math.Abs(mean-5) > 0.25 {
		t.Errorf("bursts of %v frames, want 5", mean)
	}
}

func TestJitterIsDrawnAsAsked(t *testing.T) {
	arrivals := make([]arrival, 20_000)
	for i := range arrivals {
		arrivals[i] = arrival{time.Duration(i) * 100 * ms, 100}
	}
	for name, c := range map[string]struct {
		properties              Properties
		mean, deviation, widest float64
	}{
		"uniform": {asked(`"delay_ms": 20, "jitter_ms": 10`), 20, 10 / math.Sqrt(3), 10},
		"normal":  {asked(`"delay_ms": 100, "jitter_ms": 10, "jitter": "normal"`), 100, 10, 100},
		"samples": {asked(`"delay_ms": 20, "jitter": "samples", "jitter_samples_ms": [0, 8]`), 24, 4, 4},
	} {
		var sum, squares, widest float64
		for _, d := range pass(c.properties, 1, "k", arrivals, 0, nil).delivered {
			delay := float64(d.Due-d.Arrival) / nsPerMs
			sum += delay
			squares += (delay - c.mean) * (delay - c.mean)
			widest = max(widest, math.Abs(delay-c.mean))
		}
		n := float64(len(arrivals))
		if mean, deviation := sum/n, math.Sqrt(squares/n); math.Abs(mean-c.mean) > 0.3 || math.Abs(deviation-c.deviation) > 0.3 {
			t.Errorf("%s: mean %v, deviation %v, want %v and %v", name, mean, deviation, c.mean, c.deviation)
		}
		if widest > c.widest+1e-6 {
			t.Errorf("%s: a delay is %v ms off the mean", name, widest)
		}
	}
}

func TestNoFrameIsFasterThanTheLeastDelay(t *testing.T) {
	for keys, want := range map[string]time.Duration{
		`"delay_ms": 20`:                                                                   20 * ms,
		`"delay_ms": 20, "jitter_ms": 5`:                                                   15 * ms,
		`"delay_ms": 20, "jitter_ms": 50`:                                                  0,
		`"delay_ms": 20, "jitter_ms": 1, "jitter": "normal"`:                               0,
		`"delay_ms": 20, "jitter": "samples", "jitter_samples_ms": [-2, 8]`:                18 * ms,
		`"delay_ms": 20, "reorder": 0.1, "jitter": "samples", "jitter_samples_ms": [2, 8]`: 0,
	} {
		p := asked(keys)
		if got := p.MinDelay(); got != want {
			t.Errorf("%s: %d ns, want %d", keys, got, want)
		}
		for _, d := range pass(p, 1, "k", evenly(200, ms), 0, nil).delivered {
			if d.Due-d.Arrival < want {
				t.Fatalf("%s: a frame took %d ns", keys, d.Due-d.Arrival)
			}
		}
	}
}

// Who looks at what enters the line sees all that arrives later, as it will be,
// copies too, and may keep the frames.
func TestFramesAreSeenAsTheyEnterTheLine(t *testing.T) {
	const kept = -1
	var seen, lost []int
	var dues []time.Duration
	d := NewPipe(asked(`"frames_pps": 100, "delay_ms": 20, "duplicate": 0.5, "loss": 0.2`), 1, "k", AB, 0, Hooks[int]{
		Drop: func(frame int, _ Cause) { lost = append(lost, frame) },
		Copy: func(frame int) (int, bool) { return frame, true },
		Enter: func(on *Delivery[int]) {
			seen, dues = append(seen, on.Frame), append(dues, on.Due)
			on.Frame = kept
		},
	})
	for frame := range 50 {
		d.Push(frame, 100, 0)
	}
	if len(dues) > 0 {
		t.Fatalf("%d entered the line before anything left the queue", len(dues))
	}
	for at, more := d.Next(); more; at, more = d.Next() {
		for found, ok := d.Pop(at); ok; found, ok = d.Pop(at) {
			if found.Frame != kept || found.Due != dues[0] {
				t.Fatalf("frame %d comes at %d, want %d at %d", found.Frame, found.Due, kept, dues[0])
			}
			dues = dues[1:]
		}
	}
	if len(dues) != 0 || len(lost) == 0 || uint64(len(seen)) != d.Counts().Out || d.Counts().Duplicated == 0 {
		t.Errorf("%d were seen of %+v, %d never came", len(seen), d.Counts(), len(dues))
	}
	for _, frame := range lost {
		if slices.Contains(seen, frame) {
			t.Errorf("frame %d was lost and entered the line", frame)
		}
	}
}
