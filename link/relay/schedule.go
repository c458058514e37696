package relay

import (
	"cmp"
	"fmt"
	"slices"

	"ncp-testbed/link/model"
)

// Change is a change of a link's properties, asked for a time.
type Change struct {
	Link      string       `json:"link"`
	Direction string       `json:"direction"` // ab, ba or both
	AtUnixNS  int64        `json:"at_unix_ns"`
	Set       model.Change `json:"set"`
	// AppliedUnixNS is when it took effect; 0: not yet. For the frames of the link the change lies at
	// AtUnixNS exactly, since they are told apart by their arrival.
	AppliedUnixNS int64 `json:"applied_unix_ns"`

	at model.Time
}

// targets are the directions that a change means.
func (r *Relay) targets(link, name string) ([]*direction, error) {
	if name != "ab" && name != "ba" && name != "both" {
		return nil, fmt.Errorf("direction: %q, want ab, ba or both", name)
	}
	var found []*direction
	known := []string{}
	for _, d := range r.loop.directions {
		if d.name == "ab" {
			known = append(known, d.link)
		}
		if d.link == link && (name == "both" || d.name == name) {
			found = append(found, d)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("link: %q, want one of %q", link, known)
	}
	return found, nil
}

// Set changes a link at once and returns when, as Unix nanoseconds.
func (r *Relay) Set(link, directionName string, change model.Change) (int64, error) {
	targets, err := r.targets(link, directionName)
	if err != nil {
		return 0, err
	}
	var applied int64
	ok := r.loop.do(func() {
		at := r.loop.clock.read()
		applied = at.wallNS
		for _, d := range targets {
			d.model.Set(at.now, &change)
			r.changes = append(r.changes, &Change{
				Link: link, Direction: d.name, AtUnixNS: at.wallNS, Set: change, AppliedUnixNS: at.wallNS, at: at.now,
			})
		}
		r.loop.changed()
	})
	if !ok {
		return 0, errEnded
	}
	return applied, nil
}

// Schedule takes changes to apply at their times; those of the past are applied at once. All or none.
func (r *Relay) Schedule(changes []Change) error {
	type one struct {
		target *direction
		change *Change
	}
	var all []one
	for i, c := range changes {
		targets, err := r.targets(c.Link, c.Direction)
		if err == nil {
			err = c.Set.Validate()
		}
		if err == nil && c.AtUnixNS <= 0 {
			err = fmt.Errorf("at_unix_ns: %d, want Unix time in nanoseconds", c.AtUnixNS)
		}
		if err != nil {
			return fmt.Errorf("[%d].%w", i, err)
		}
		for _, d := range targets {
			own := c
			own.Direction, own.AppliedUnixNS = d.name, 0
			all = append(all, one{d, &own})
		}
	}
	ok := r.loop.do(func() {
		at := r.loop.clock.read()
		for _, o := range all {
			o.change.at = max(at.now, at.now+o.change.AtUnixNS-at.wallNS)
			d := o.target
			after, _ := slices.BinarySearchFunc(d.pending, o.change.at+1, func(c *Change, at model.Time) int {
				return cmp.Compare(c.at, at)
			})
			d.pending = slices.Insert(d.pending, after, o.change)
			r.loop.nextChange = min(r.loop.nextChange, o.change.at)
			r.changes = append(r.changes, o.change)
		}
	})
	if !ok {
		return errEnded
	}
	return nil
}

// Changes are all that were asked for, in the order of asking.
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
