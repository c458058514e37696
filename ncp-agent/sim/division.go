package sim

import (
	"time"

	"ncp-testbed/internal/linkmodel"
	"ncp-testbed/internal/timing"
)

// division says which part of a simulation has what. A transfer and the
// directions that it sends into first are in one part: it looks at their queues.
// What else a packet crosses may be in others, where it is known long enough
// before it gets there.
type division struct {
	parts      int
	transfers  []int // by number: the part
	directions []int
	// ahead is how long before it arrives whatever comes out of another part is
	// on its way: the least delay of all directions that lead from one to another.
	ahead time.Duration
}

// minAhead is the delay below which a direction and what is behind it are in
// one part: parts that wait for each other all the time gain nothing.
const minAhead = 500 * time.Microsecond

// divide makes at most so many parts, of about the same work as far as the
// connections tell that cross a direction. What shares no link is apart first of
// all; the first transfer is in the first part.
func divide(run *Run, routes [][]route, events []event, maxParts int) *division {
	d := &division{parts: 1, transfers: make([]int, len(run.Transfers)), directions: make([]int, 2*len(run.Links)), ahead: timing.Never}
	if maxParts < 2 {
		return d
	}
	delays := minDelays(run, events)
	groups := newGroups(len(run.Transfers) + len(delays))
	direction := func(i int) int { return len(run.Transfers) + i }
	for t := range routes {
		for _, r := range routes[t] {
			groups.join(t, direction(r.forward[0]))
			groups.join(t, direction(r.back[0]))
			r.hops(func(from, to int) {
				switch {
				case delays[from] >= minAhead:
				case to < 0:
					groups.join(direction(from), t)
				default:
					groups.join(direction(from), direction(to))
				}
			})
		}
	}
	d.share(groups, routes, maxParts)
	for t := range routes {
		for _, r := range routes[t] {
			r.hops(func(from, to int) {
				if d.directions[from] != d.behind(t, to) {
					d.ahead = min(d.ahead, delays[from])
				}
			})
		}
	}
	return d
}

// behind returns the part that a packet of a transfer comes to: that of a
// direction, or of the transfer itself where there is none.
func (d *division) behind(transfer, direction int) int {
	if direction < 0 {
		return d.transfers[transfer]
	}
	return d.directions[direction]
}

// share returns the parts groups of equal weight, in the order in which the
// transfers' routes come to them.
func (d *division) share(groups groups, routes [][]route, maxParts int) {
	direction := func(i int) int { return len(routes) + i }
	weights, sum := make([]int, len(groups)), 0
	var order []int
	meet := func(i int) {
		root := groups.root(i)
		if weights[root] == 0 {
			order = append(order, root)
		}
		weights[root]++
		sum++
	}
	for t := range routes {
		meet(t)
		for _, r := range routes[t] {
			for i := range r.forward {
				meet(direction(r.forward[i]))
				meet(direction(r.back[i]))
			}
		}
	}
	parts := make([]int, len(groups)) // by root; what no route comes to is in the first
	before, share := 0, 0
	for _, root := range order {
		if next := before * maxParts / sum; next > share {
			share = next
			d.parts++
		}
		parts[root] = d.parts - 1
		before += weights[root]
	}
	for t := range d.transfers {
		d.transfers[t] = parts[groups.root(t)]
	}
	for i := range d.directions {
		d.directions[i] = parts[groups.root(direction(i))]
	}
}

// minDelays returns the least time that a packet is on the line of each
// direction, whatever the events change; 0 where packets may overtake.
func minDelays(run *Run, events []event) []time.Duration {
	properties, delays := make([]linkmodel.Properties, 2*len(run.Links)), make([]time.Duration, 2*len(run.Links))
	look := func(i int) time.Duration {
		p := &properties[i]
		if p.JitterReorders {
			return 0
		}
		return time.Duration(p.MinDelay())
	}
	for i := range delays {
		properties[i] = run.properties(i)
		delays[i] = look(i)
	}
	for _, e := range events {
		for _, i := range e.directions {
			if e.Set != nil {
				properties[i] = properties[i].Apply(e.Set)
				delays[i] = min(delays[i], look(i))
			}
		}
	}
	return delays
}

// groups are disjoint sets of numbers: of each number another one of its set,
// or itself.
type groups []int

func newGroups(n int) groups {
	g := make(groups, n)
	for i := range g {
		g[i] = i
	}
	return g
}

// root returns the same number for all of a set.
func (g groups) root(i int) int {
	for g[i] != i {
		g[i] = g[g[i]]
		i = g[i]
	}
	return i
}

func (g groups) join(i, j int) { g[g.root(i)] = g.root(j) }
