package model

import (
	"fmt"
	"math/rand/v2"
)

// GilbertElliott is the two-state loss of Gilbert (1960) and Elliott (1963). The state moves once per frame,
// then the frame is lost with the chance of the state.
type GilbertElliott struct {
	// Enter is the chance of a frame to turn the good state bad, Leave that to turn the bad state good.
	Enter float64 `json:"enter"`
	Leave float64 `json:"leave"`
	// LossGood and LossBad are the shares lost in either state; Gilbert's model has 0 and 1.
	LossGood float64 `json:"loss_good"`
	LossBad  float64 `json:"loss_bad"`
}

func (g *GilbertElliott) validate() error {
	for _, p := range []struct {
		name  string
		value float64
	}{{"enter", g.Enter}, {"leave", g.Leave}, {"loss_good", g.LossGood}, {"loss_bad", g.LossBad}} {
		if !(p.value >= 0 && p.value <= 1) {
			return fmt.Errorf("gilbert_elliott.%s: %v, want a number from 0 to 1", p.name, p.value)
		}
	}
	return nil
}

// MeanLoss is the share of frames lost in the long run.
func (g *GilbertElliott) MeanLoss() float64 {
	if g.Enter+g.Leave == 0 {
		return g.LossGood
	}
	bad := g.Enter / (g.Enter + g.Leave)
	return (1-bad)*g.LossGood + bad*g.LossBad
}

// MeanLoss is the configured share of frames lost in the long run.
func (p *Properties) MeanLoss() float64 {
	if p.GilbertElliott != nil {
		return p.GilbertElliott.MeanLoss()
	}
	return p.Loss
}

// lossState is what burst loss remembers from one frame to the next.
type lossState struct{ bad bool }

// lose decides the fate of one frame.
func (s *lossState) lose(p *Properties, r *rand.Rand) bool {
	g := p.GilbertElliott
	if g == nil {
		return chance(r, p.Loss)
	}
	if s.bad {
		s.bad = !chance(r, g.Leave)
	} else {
		s.bad = chance(r, g.Enter)
	}
	if s.bad {
		return chance(r, g.LossBad)
	}
	return chance(r, g.LossGood)
}
