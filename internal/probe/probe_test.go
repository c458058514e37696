package probe

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ncp-testbed/internal/linkmodel"
	"ncp-testbed/internal/plan"
	"ncp-testbed/internal/timing"
)

// Rates are measured in order, of so many directions at once as a machine sends frames of on time, and of no fewer.
func TestNoMoreFramesAreBlastedAtOnceThanAMachineSendsOnTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var directions []*direction
		for _, bps := range rapid.SliceOf(rapid.Float64Range(0, 1e9)).Draw(t, "rates") {
			directions = append(directions, &direction{link: &plan.Link{Properties: linkmodel.Properties{RateBPS: bps}}, middle: &linkmodel.Properties{}, frameBytes: 1500})
		}
		found := rounds(directions)
		if !slices.Equal(slices.Concat(found...), directions) {
			t.Fatal("some are left out, or not in order")
		}
		frames := func(some []*direction) (sum float64) {
			for _, d := range some {
				sum += d.blastedPerSecond()
			}
			return sum
		}
		for i, some := range found {
			if len(some) > 1 && frames(some) > mostFramesPerSecond+1e-6 {
				t.Errorf("%d directions blast %v frames a second", len(some), frames(some))
			}
			if i > 0 && frames(found[i-1])+some[0].blastedPerSecond() < mostFramesPerSecond-1e-6 {
				t.Errorf("direction %v would have had its place in the round before", some[0])
			}
		}
	})
}

func FuzzDecode(f *testing.F) {
	packet := make([]byte, packetBytes)
	encode(packet, stepRate, 7)
	f.Add(packet)
	f.Add([]byte("ncpl"))
	f.Fuzz(func(t *testing.T, payload []byte) {
		step, sequence, ok := decode(payload)
		if !ok {
			return
		}
		again := make([]byte, packetBytes)
		encode(again, step, sequence)
		if string(again) != string(payload[:packetBytes]) {
			t.Fatalf("%x is read as step %d, sequence %d, which is %x", payload, step, sequence, again)
		}
	})
}

// arrivals of a link of 1024 frames/s after a burst of three, with every tenth frame lost past the shaper.
func shapedArrivals(frames int, lossy bool) []arrival {
	var all []arrival
	for i := range frames {
		if lossy && i%10 == 9 {
			continue
		}
		at := timing.Unix(1 + int64(max(0, i-2))*1e9/1024)
		all = append(all, arrival{uint64(i), at})
	}
	return all
}

func arrivalsOf(d *direction, step byte) []arrival {
	all, _ := d.to.received(step)
	return all
}

// arrived is an end at which packets of a step have arrived.
func arrived(step byte, all []arrival) *endpoint {
	e := &endpoint{}
	e.arrivals[step] = all
	return e
}

func TestRateLeavesOutTheBurstAndCountsWhatWasLost(t *testing.T) {
	for _, lossy := range []bool{false, true} {
		middle := &linkmodel.Properties{}
		if lossy {
			middle.Loss = 0.1
		}
		d := &direction{
			link:       &plan.Link{Properties: linkmodel.Properties{RateBPS: 1024 * 1073 * 8, BurstBytes: 3 * 1073}},
			middle:     middle,
			frameBytes: 1073,
			to:         arrived(stepRate, shapedArrivals(1000, lossy)),
		}
		rate, frames := d.rateBPS(arrivalsOf(d, stepRate))
		if rate == nil || *rate < 0.9999*d.link.RateBPS || *rate > 1.0001*d.link.RateBPS || frames < 800 {
			t.Errorf("lossy %v: rate %v by %d frames, want %v", lossy, rate, frames, d.link.RateBPS)
		}
	}
}

// A sender that the machine held up for a third of the time leaves the link idle, but its rate is what it is.
func TestRateIsNotThatOfAnIdleLink(t *testing.T) {
	all := shapedArrivals(1000, false)
	for i := 600; i < len(all); i++ {
		all[i].at += 5e8
	}
	d := &direction{
		link: &plan.Link{Properties: linkmodel.Properties{RateBPS: 1024 * 1073 * 8}}, middle: &linkmodel.Properties{}, frameBytes: 1073,
		to: arrived(stepRate, all),
	}
	if rate, _ := d.rateBPS(arrivalsOf(d, stepRate)); rate == nil || *rate < 0.9999*d.link.RateBPS || *rate > 1.0001*d.link.RateBPS {
		t.Errorf("rate %v, want %v", *rate, d.link.RateBPS)
	}
}

func TestRateOfTooFewFramesIsNone(t *testing.T) {
	d := &direction{link: &plan.Link{Properties: linkmodel.Properties{RateBPS: 1e6}}, middle: &linkmodel.Properties{}, frameBytes: 1073}
	for frames := range 2 {
		d.to = arrived(stepRate, shapedArrivals(frames, false))
		if rate, _ := d.rateBPS(arrivalsOf(d, stepRate)); rate != nil {
			t.Errorf("rate %v of %d frames", *rate, frames)
		}
	}
}

func TestDelayIsByTheKernelsStamps(t *testing.T) {
	d := &direction{
		to:     arrived(stepDelay, []arrival{{1, 2e9 + 60e6}, {0, 1e9 + 50e6}, {9, 5e9}}),
		stamps: map[uint32]timing.Unix{0: 1e9, 1: 2e9, 2: 3e9},
	}
	delays := d.delaysMS(arrivalsOf(d, stepDelay))
	if len(delays) != 2 || delays[0] != 50 || delays[1] != 60 {
		t.Errorf("delays %v, want 50 and 60, and none of a packet that has no stamp", delays)
	}
}

func TestCopiesAreReceivedOnce(t *testing.T) {
	if n := distinct([]arrival{{1, 0}, {2, 0}, {1, 5}}); n != 2 {
		t.Errorf("%d packets, want 2", n)
	}
}

func TestLongestDelayBoundsJitter(t *testing.T) {
	with := func(jitter linkmodel.Jitter) linkmodel.Properties {
		return linkmodel.Properties{DelayMS: 100, Impairments: linkmodel.Impairments{Jitter: jitter}}
	}
	for want, p := range map[time.Duration]linkmodel.Properties{
		100 * time.Millisecond: with(linkmodel.Jitter{}),
		150 * time.Millisecond: with(linkmodel.Jitter{JitterMS: 10}),
		140 * time.Millisecond: with(linkmodel.Jitter{JitterKind: linkmodel.JitterSamples, JitterSamplesMS: []float64{1, 40}}),
	} {
		if got := (&direction{middle: &p}).longestDelay(); got < want || got > want+time.Second {
			t.Errorf("%+v: %v, want %v and a little", p, got, want)
		}
	}
}

// A packet without the kernel's timestamp has arrived, and says nothing of times.
func TestWhatTheKernelDidNotStampMeasuresNoTime(t *testing.T) {
	e := &endpoint{}
	payload := make([]byte, packetBytes)
	for sequence := range uint64(3) {
		encode(payload, stepDelay, sequence)
		e.file(payload, nil)
	}
	found, err := e.received(stepDelay)
	if err != nil || distinct(found) != 3 {
		t.Fatalf("%d arrived, %v, want 3", distinct(found), err)
	}
	found[1].at = 1e9 + 50e6
	d := &direction{link: &plan.Link{}, middle: &linkmodel.Properties{}, frameBytes: 1000, stamps: map[uint32]timing.Unix{0: 1e9, 1: 1e9, 2: 1e9}}
	if delays := d.delaysMS(found); !slices.Equal(delays, []float64{50}) {
		t.Errorf("delays %v, want the one of 50 ms", delays)
	}
	if rate, frames := d.rateBPS(found); rate != nil {
		t.Errorf("a rate of %v bit/s of %d frames, want none of one time", *rate, frames)
	}
}
