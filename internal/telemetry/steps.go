package telemetry

import "time"

// AtSteps calls sample at whole steps of the wall clock until stop is closed,
// then once more: samples of all components fall on the same times.
func AtSteps(interval time.Duration, stop <-chan struct{}, sample func()) {
	for {
		select {
		case <-time.After(time.Until(NextStep(time.Now(), interval))):
			sample()
		case <-stop:
			sample()
			return
		}
	}
}

// NextStep returns the whole step of the wall clock after a time.
func NextStep(now time.Time, interval time.Duration) time.Time {
	// Truncate counts from the year 1, which lies a whole number of seconds before 1970.
	return now.Add(now.Truncate(interval).Add(interval).Sub(now))
}
