package endpoint

import (
	"fmt"
	"time"
)

// PauseReading stops the reading of one connection, counted from 0, as if its
// application had stopped: the kernel's buffer fills meanwhile, and nothing is
// acknowledged. A packet or a few that were on their way out of it when the
// pause began wait too. Reading resumes by itself after the given time. A later
// call takes the place of an earlier one.
func (d *Driver) PauseReading(connection int, duration time.Duration) error {
	if connection < 0 || connection >= len(d.links) {
		return fmt.Errorf("connection %d, want 1 to %d", connection+1, len(d.links))
	}
	l := d.links[connection]
	d.mu.Lock()
	defer d.mu.Unlock()
	l.endPause()
	resume := make(chan struct{})
	l.resume = resume
	time.AfterFunc(duration, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if l.resume == resume {
			l.endPause()
		}
	})
	return nil
}

// endPause wakes the reader. The driver's lock is held.
func (l *link) endPause() {
	if l.resume != nil {
		close(l.resume)
		l.resume = nil
	}
}
