package relay

import (
	"cmp"
	"context"
	"slices"
	"time"

	"ncp-testbed/internal/controlsocket"
	"ncp-testbed/internal/linkmodel"
	"ncp-testbed/internal/timing"
)

// Change is a change of a link's properties, requested for a time.
type Change struct {
	Link      string              `json:"link"`
	Direction linkmodel.Direction `json:"direction"`
	AtUnixNS  timing.Unix         `json:"at_unix_ns"`
	Set       linkmodel.Change    `json:"set"`
	// AppliedUnixNS is when it took effect; 0: not yet. For the frames of the link the change lies at
	// AtUnixNS exactly, since they are distinguished by their arrival.
	AppliedUnixNS timing.Unix `json:"applied_unix_ns"`

	at      time.Duration
	applied func() // called when it is
}

// targets are the directions that a change means.
func (r *Relay) targets(link string, of linkmodel.Direction) ([]*direction, error) {
	if err := of.Validate(); err != nil {
		return nil, controlsocket.Refused(controlsocket.CodeInvalid, "%w", err)
	}
	var found []*direction
	known := []string{}
	for _, d := range r.loop.directions {
		if d.name == linkmodel.AB {
			known = append(known, d.link)
		}
		if d.link == link && of.Covers(d.name) {
			found = append(found, d)
		}
	}
	if len(found) == 0 {
		return nil, controlsocket.Refused(controlsocket.CodeUnknown, "link: %q, want one of %q", link, known)
	}
	return found, nil
}

// Set changes a link at a time, or at once if that has passed. It returns once it is done, with
// the time of that, or when ctx ends: the change is made all the same.
func (r *Relay) Set(ctx context.Context, link string, of linkmodel.Direction, set linkmodel.Change, when timing.Unix) (timing.Unix, error) {
	targets, err := r.targets(link, of)
	if err != nil {
		return 0, err
	}
	left, done := len(targets), make(chan struct{})
	applied := func() {
		if left--; left == 0 {
			close(done)
		}
	}
	var last *Change
	ok := r.loop.do(func() {
		now := r.loop.clock.read()
		at := max(now.now, now.now+when.Sub(now.wall))
		for _, d := range targets {
			last = &Change{
				Link: link, Direction: d.name, AtUnixNS: cmp.Or(when, now.wall), Set: set, at: at, applied: applied,
			}
			after, _ := slices.BinarySearchFunc(d.pending, at+1, func(c *Change, at time.Duration) int {
				return cmp.Compare(c.at, at)
			})
			d.pending = slices.Insert(d.pending, after, last)
			r.changes = append(r.changes, last)
		}
		r.loop.nextChange = min(r.loop.nextChange, at)
	})
	if !ok {
		return 0, errEnded
	}
	select {
	case <-done:
		return last.AppliedUnixNS, nil
	case <-r.loop.stopped:
		return 0, errEnded
	case <-ctx.Done():
		return 0, controlsocket.Gone(ctx)
	}
}

// Changes returns all that were requested, in the order of the requests.
func (r *Relay) Changes() []Change {
	var copies []Change
	read := func() {
		for _, c := range r.changes {
			copies = append(copies, *c)
		}
	}
	if !r.loop.do(read) {
		read()
	}
	return copies
}
