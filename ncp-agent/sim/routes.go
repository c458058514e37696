package sim

import (
	"fmt"
	"slices"

	"ncp-testbed/internal/linkmodel"
)

// route is the way of one connection: the numbers of the directions that it
// crosses, there and back. Direction 2i of link i leads away from the senders.
type route struct{ forward, back []int }

// hops goes through what comes behind each direction of a route: another one,
// or -1 for the transfer's own end.
func (r route) hops(each func(from, to int)) {
	for _, way := range [][]int{r.forward, r.back} {
		for i, from := range way {
			to := -1
			if i+1 < len(way) {
				to = way[i+1]
			}
			each(from, to)
		}
	}
}

// event is an Event, with the numbers of what it names.
type event struct {
	*Event
	directions []int // that it changes
	transfer   int   // whose reader stops
	paused     *end  // the same
}

// names finds what paths and events name.
type names struct {
	run              *Run
	links, transfers map[string]int
}

func newNames(run *Run) *names {
	n := &names{run, map[string]int{}, map[string]int{}}
	for i := range run.Links {
		n.links[run.Links[i].Name] = i
	}
	for i := range run.Transfers {
		n.transfers[run.Transfers[i].Name] = i
	}
	return n
}

// routes returns those of a transfer's connections.
func (n *names) routes(c *Transfer) ([]route, error) {
	if len(c.Paths) != len(c.Sender.ClientIDs) || len(c.Paths) != len(c.Receiver.ClientIDs) {
		return nil, fmt.Errorf("sim: %d paths for %d and %d connections", len(c.Paths), len(c.Sender.ClientIDs), len(c.Receiver.ClientIDs))
	}
	var list []route
	for _, path := range c.Paths {
		if len(path) == 0 {
			return nil, fmt.Errorf("sim: a connection without a link")
		}
		var r route
		for _, name := range path {
			i, ok := n.links[name]
			if !ok {
				return nil, unknown("link", name)
			}
			r.forward, r.back = append(r.forward, 2*i), append(r.back, 2*i+1)
		}
		slices.Reverse(r.back)
		for _, way := range [][]int{r.forward, r.back} {
			for _, i := range way[1:] {
				if n.run.properties(i).Queue.Mode == linkmodel.QueueBackPressure {
					return nil, fmt.Errorf("sim: path %v: only its first link can have a queue in back-pressure mode", path)
				}
			}
		}
		list = append(list, r)
	}
	return list, nil
}

// events returns the run's, in the order of time.
func (n *names) events() ([]event, error) {
	var list []event
	for i := range n.run.Events {
		e := event{Event: &n.run.Events[i]}
		if e.Set != nil || e.Up != nil {
			link, ok := n.links[e.Link]
			if !ok {
				return nil, unknown("link", e.Link)
			}
			for side, direction := range linkmodel.Directions {
				if e.Direction == "" || e.Direction.Covers(direction) {
					e.directions = append(e.directions, 2*link+side)
				}
			}
		}
		if e.PauseRead > 0 {
			t, ok := n.transfers[e.Transfer]
			if !ok {
				return nil, unknown("transfer", e.Transfer)
			}
			if e.Connection < 0 || e.Connection >= len(n.run.Transfers[t].Paths) {
				return nil, fmt.Errorf("sim: transfer %q has no connection %d", e.Transfer, e.Connection)
			}
			e.transfer = t
		}
		list = append(list, e)
	}
	slices.SortStableFunc(list, func(a, b event) int { return int(a.At - b.At) })
	return list, nil
}

// properties returns those that a direction begins with.
func (r *Run) properties(direction int) linkmodel.Properties {
	l := &r.Links[direction/2]
	if direction%2 == 1 {
		return l.BA
	}
	return l.AB
}
