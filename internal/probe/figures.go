package probe

import (
	"cmp"
	"slices"

	"ncp-testbed/internal/quantile"
)

// measurement works out the figures of a direction.
func (d *direction) measurement() (Measurement, error) {
	m := Measurement{Link: d.link.Name, Direction: d.name, Loss: 1}
	var arrivals [steps][]arrival
	for step := range arrivals {
		var err error
		if arrivals[step], err = d.to.received(byte(step)); err != nil {
			return m, err
		}
	}
	if delays := d.delaysMS(arrivals[stepDelay]); len(delays) > 0 {
		median, p99 := quantile.Of(delays, 0.5), quantile.Of(delays, 0.99)
		m.DelayMS, m.DelayP99MS, m.DelaySamples = &median, &p99, len(delays)
	}
	m.RateBPS, m.RateFrames = d.rateBPS(slices.Clone(arrivals[stepRate]))
	for _, step := range []byte{stepHello, stepDelay, stepRate, stepLoss} {
		// A link that is shaped in the middle drops of the blast by its queue.
		if step == stepHello && d.sent[stepDelay] > 0 || step == stepRate && !d.link.ShapedAtHosts() {
			continue
		}
		m.Sent += d.sent[step]
		m.Received += distinct(arrivals[step])
	}
	if m.Sent > 0 {
		m.Loss = 1 - float64(m.Received)/float64(m.Sent)
	}
	return m, nil
}

// delaysMS are the one-way delays, ascending.
func (d *direction) delaysMS(arrivals []arrival) []float64 {
	var delays []float64
	for _, a := range arrivals {
		if left, ok := d.stamps[uint32(a.sequence)]; ok && a.at != 0 {
			delays = append(delays, float64(a.at.Sub(left))/1e6)
		}
	}
	slices.Sort(delays)
	return delays
}

// rateStretches is into how many the blast is divided. Their median is the rate: where the machine has held the
// sender up for a while, the link was idle, and that is no property of it.
const rateStretches = 9

// rateBPS is the rate between the first arrival after the initial burst and the last, and how many frames it
// is measured by.
func (d *direction) rateBPS(all []arrival) (*float64, int) {
	all = slices.DeleteFunc(all, func(a arrival) bool { return a.at == 0 })
	slices.SortFunc(all, func(a, b arrival) int { return cmp.Compare(a.at, b.at) })
	all = all[min(len(all), d.burstFrames()):]
	stretches := min(rateStretches, len(all)-1)
	if stretches < 1 {
		return nil, 0
	}
	var rates []float64
	for i := range stretches {
		first, last := i*(len(all)-1)/stretches, (i+1)*(len(all)-1)/stretches
		frames := last - first
		if d.link.ShapedAtHosts() && d.middle.MeanLoss() > 0 {
			// What the middle lost, as configured, has passed the shaper, too.
			frames = int(all[last].sequence) - int(all[first].sequence)
		}
		if took := all[last].at.Sub(all[first].at); took > 0 && frames > 0 {
			rates = append(rates, float64(frames*d.frameBytes*8)*1e9/float64(took))
		}
	}
	if len(rates) == 0 {
		return nil, 0
	}
	slices.Sort(rates)
	median := quantile.Of(rates, 0.5)
	return &median, len(all) - 1
}

func distinct(all []arrival) int {
	seen := map[uint64]bool{}
	for _, a := range all {
		seen[a.sequence] = true
	}
	return len(seen)
}
