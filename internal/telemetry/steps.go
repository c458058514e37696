package telemetry

import "time"

// AtSteps calls sample at whole steps of the wall clock until stop is closed,
// then once more: samples of all components fall on the same times.
func AtSteps(interval time.Duration, stop <-chan struct{}, sample func()) {
	for {
		now := time.Now()
		next := now.Truncate(interval).Add(interval)
		select {
		case <-time.After(next.Sub(now)):
			sample()
		case <-stop:
			sample()
			return
		}
	}
}
