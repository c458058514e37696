package rtt

import (
	"testing"
	"time"
)

// RFC 6298, 2.2 and 2.3, worked out by hand.
func TestEstimator(t *testing.T) {
	var whole Estimator[time.Duration]
	var seconds Estimator[float64]
	for _, step := range []struct{ sample, srtt, rttvar time.Duration }{
		{80 * time.Millisecond, 80 * time.Millisecond, 40 * time.Millisecond},
		{160 * time.Millisecond, 90 * time.Millisecond, 50 * time.Millisecond},
		{10 * time.Millisecond, 80 * time.Millisecond, 57500 * time.Microsecond},
	} {
		whole.Add(step.sample, 1)
		seconds.Add(step.sample.Seconds(), 1)
		if whole.SRTT != step.srtt || whole.RTTVAR != step.rttvar {
			t.Errorf("after %v: %+v, want %v and %v", step.sample, whole, step.srtt, step.rttvar)
		}
		if got := time.Duration(seconds.SRTT * 1e9).Round(time.Microsecond); got != step.srtt {
			t.Errorf("after %v in seconds: %v, want %v", step.sample, got, step.srtt)
		}
	}
}

// Of four samples in a round trip, each moves the estimate by a quarter as much.
func TestShare(t *testing.T) {
	e := Estimator[time.Duration]{SRTT: 80, RTTVAR: 40}
	e.Add(144, 4)
	if e.SRTT != 82 || e.RTTVAR != 41 {
		t.Errorf("%+v, want 82 and 41", e)
	}
}

func TestTimeout(t *testing.T) {
	rule := Timeout{
		Initial: time.Second, Margin: 50 * time.Millisecond, Min: 200 * time.Millisecond, Max: 60 * time.Second,
		Backoff: 2, MaxBackoff: 3 * time.Second,
	}
	for _, c := range []struct {
		srtt, rttvar float64
		timeouts     int
		want         time.Duration
	}{
		{0, 0, 0, time.Second},
		{0.5, 0.125, 0, 1050 * time.Millisecond},
		{0.03125, 0.015625, 0, 200 * time.Millisecond}, // at least Min
		{0.5, 0.125, 1, 2100 * time.Millisecond},
		{0.5, 0.125, 2, 3 * time.Second}, // at most MaxBackoff
		{0.5, 0.125, 1 << 30, 3 * time.Second},
		{4, 0, 5, 4050 * time.Millisecond}, // which never shortens it
		{50, 10, 0, 60 * time.Second},      // at most Max
	} {
		if got := rule.After(Estimator[float64]{c.srtt, c.rttvar}, c.timeouts); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
