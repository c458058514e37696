package linkmodel

import (
	"math/rand/v2"
	"reflect"
	"time"
)

// Impairments are what a line can do to frames beside its delay, in the order in which a frame meets them. Each is a
// struct in a file of its own, which is an [impairment]; a line here is all that makes it one of a link's properties.
type Impairments struct {
	FrameLoss
	Corruption
	Reordering
	Jitter
	Duplication
}

// impairment is the configuration of one of the Impairments, in exported fields: their tags say the key, as
// [Properties] does, and the bounds. The zero value does nothing.
type impairment interface {
	// begin returns what is done to each frame of one direction, by the configuration at the time. It keeps what it
	// has to know from one frame to the next, and draws from streams of its own purposes alone.
	begin(draws stream) func(*outcome)
}

// outcome is what becomes of a frame on the line. Impairments change it in their order.
type outcome struct {
	bytes     int
	delayMS   float64 // before the first impairment the link's own delay
	lost      bool    // whatever comes later does not meet it
	overtakes bool    // it has no delay, whatever delayMS says
	unordered bool    // it may arrive before those that left earlier
	copies    int     // that arrive with it
	flipBit   int     // as [Delivery] has it
}

// lossModel is an impairment that says which share of the frames it loses in the long run.
type lossModel interface{ meanLoss() float64 }

// delayBounder is an impairment by which frames may take less than a delay: what they take at least, of that delay;
// -Inf where it sets no bound.
type delayBounder interface{ minMS(delayMS float64) float64 }

// stream returns the draws of a purpose, the same whatever else is drawn.
type stream func(purpose string) *rand.Rand

// each are pointers to the impairments, in their order.
func (i *Impairments) each() []impairment {
	fields := reflect.ValueOf(i).Elem()
	all := make([]impairment, fields.NumField())
	for n := range all {
		all[n] = fields.Field(n).Addr().Interface().(impairment)
	}
	return all
}

// MeanLoss is the configured share of frames lost in the long run.
func (i *Impairments) MeanLoss() float64 {
	lost := 0.0
	for _, one := range i.each() {
		if l, ok := one.(lossModel); ok {
			own := l.meanLoss()
			lost += own - float64(lost*own)
		}
	}
	return lost
}

// MinDelay is the shortest time that a frame can take, in nanoseconds; 0 if an impairment sets no bound.
func (p *Properties) MinDelay() time.Duration {
	minMS := p.DelayMS
	for _, one := range p.each() {
		if h, ok := one.(delayBounder); ok {
			minMS = h.minMS(minMS)
		}
	}
	return time.Duration(max(0, minMS) * nsPerMs)
}
