package linkmodel

// FrameLoss loses frames: each for itself, or in bursts.
type FrameLoss struct {
	// Loss is the share of frames lost, each for itself.
	Loss float64 `json:"loss" max:"1" oneof:"loss"`
	// GilbertElliott, if set, loses frames in bursts instead.
	GilbertElliott *GilbertElliott `json:"gilbert_elliott,omitempty" oneof:"loss"`
}

// GilbertElliott is the two-state loss of Gilbert (1960) and Elliott (1963). The state moves once per frame,
// then the frame is lost with the chance of the state.
type GilbertElliott struct {
	// Enter is the chance of a frame to turn the good state bad, Leave that to turn the bad state good.
	Enter float64 `json:"enter" max:"1"`
	Leave float64 `json:"leave" max:"1"`
	// LossGood and LossBad are the shares lost in either state; Gilbert's model has 0 and 1.
	LossGood float64 `json:"loss_good" max:"1"`
	LossBad  float64 `json:"loss_bad" max:"1"`
}

// MeanLoss is the share of frames lost in the long run.
func (g *GilbertElliott) MeanLoss() float64 {
	if g.Enter+g.Leave == 0 {
		return g.LossGood
	}
	bad := g.Enter / (g.Enter + g.Leave)
	return (1-bad)*g.LossGood + bad*g.LossBad
}

func (l *FrameLoss) meanLoss() float64 {
	if l.GilbertElliott != nil {
		return l.GilbertElliott.MeanLoss()
	}
	return l.Loss
}

// begin draws the fate of each frame; the pipe drops those that are lost (Pipe.enterLine).
func (l *FrameLoss) begin(draws stream) func(*outcome) {
	r := draws("loss")
	bad := false // the state of burst loss
	return func(f *outcome) {
		g := l.GilbertElliott
		if g == nil {
			f.lost = chance(r, l.Loss)
			return
		}
		if bad {
			bad = !chance(r, g.Leave)
		} else {
			bad = chance(r, g.Enter)
		}
		if bad {
			f.lost = chance(r, g.LossBad)
		} else {
			f.lost = chance(r, g.LossGood)
		}
	}
}
