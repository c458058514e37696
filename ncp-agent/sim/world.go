package sim

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ncp-testbed/internal/linkmetrics"
	"ncp-testbed/internal/timing"
)

// world is a simulation in parts, which run in parallel from one barrier to
// the next. What leaves one part for another is on its way for at least
// ahead; so a part can go so far beyond the earliest thing that happens anywhere
// without knowing what the others do meanwhile (conservative windows). What
// comes out does not depend on how many parts there are.
type world struct {
	run        *Run
	parts      []*part
	ahead      time.Duration
	transfers  []*transfer  // of all parts, by number
	directions []*direction // where they are sent into, by number
	workers    int
	now        time.Duration
	sampleAt   time.Duration
	samples    []Sample
	stats      Sample // reused
	states     []linkmetrics.State
	worthwhile int  // how many moments in a window make it busy
	moments    int  // of all parts, up to the last window
	busy       bool // so many in that, that it is worth while to wake other cores for the next
}

// partsPerWorker is more than one, so that who is done with a part early takes
// another.
const partsPerWorker = 8

func newWorld(run *Run) (*world, error) {
	w := &world{run: run, workers: cmp.Or(run.Workers, runtime.GOMAXPROCS(0)), worthwhile: 100}
	if run.Observer.Frame != nil || run.Observer.Packet != nil {
		w.workers = 1 // these are reported as they happen
	}
	known := newNames(run)
	var routes [][]route
	for i := range run.Transfers {
		r, err := known.routes(&run.Transfers[i])
		if err != nil {
			return nil, inTransfer(run, i, err)
		}
		routes = append(routes, r)
	}
	events, err := known.events()
	if err != nil {
		return nil, err
	}
	maxParts := 1
	if w.workers > 1 {
		maxParts = w.workers * partsPerWorker
	}
	division := divide(run, routes, events, maxParts)
	w.ahead = division.ahead
	for range division.parts {
		w.parts = append(w.parts, newPart(run, events))
	}
	w.addDirections(division, routes)
	for i, r := range routes {
		p := w.parts[division.transfers[i]]
		t, err := p.newTransfer(i, r, w.directions)
		if err != nil {
			return nil, inTransfer(run, i, err)
		}
		p.transfers, w.transfers = append(p.transfers, t), append(w.transfers, t)
	}
	for i := range events {
		if events[i].PauseRead > 0 {
			events[i].paused = w.transfers[events[i].transfer].ends[1]
		}
	}
	for _, p := range w.parts {
		p.ready()
	}
	if len(w.transfers) > 0 {
		w.parts[0].first = w.transfers[0]
	}
	return w, nil
}

func inTransfer(run *Run, i int, err error) error {
	return fmt.Errorf("transfer %q: %w", run.Transfers[i].Name, err)
}

// addDirections makes all directions, and their far ends in other parts.
func (w *world) addDirections(division *division, routes [][]route) {
	for i, p := range division.directions {
		d := w.parts[p].network.newDirection(w.run, i)
		w.parts[p].addDirection(d)
		w.directions = append(w.directions, d)
	}
	for t := range routes {
		for _, r := range routes[t] {
			r.hops(func(from, to int) {
				d, p := w.directions[from], w.parts[division.behind(t, to)]
				if p == d.part || d.ends[p] != nil {
					return
				}
				if d.ends == nil {
					d.ends = map[*part]*direction{}
				}
				d.ends[p] = &direction{number: from}
				p.addDirection(d.ends[p])
			})
		}
	}
}

// simulate goes from window to window, until all transfers have come to their
// end or the time is up.
func (w *world) simulate() error {
	for {
		next := w.run.Until
		for _, p := range w.parts {
			next = min(next, p.next().at)
		}
		if w.going() == 0 || next >= w.run.Until {
			w.now = next
			for _, p := range w.parts {
				p.arrive(next)
			}
			return nil
		}
		end := w.window(w.end(next))
		for _, p := range w.parts {
			if p.err != nil {
				return p.err
			}
		}
		if err := w.exchange(end.at); err != nil {
			return err
		}
		w.tell()
		if end == (moment{w.sampleAt, 1}) {
			w.takeSamples()
		}
	}
}

// end returns the end of the window that begins at a time.
func (w *world) end(begin time.Duration) moment {
	last := min(w.sampleAt, w.run.Until-1)
	if w.ahead < timing.Never {
		last = min(last, begin+w.ahead-1)
	}
	return moment{last, 1}
}

// window has every part go to the end of a window, or to the moment at which
// the last transfer of all came to its end, if that is earlier. It returns that.
func (w *world) window(end moment) moment {
	moments := 0
	for _, p := range w.parts {
		moments += p.moments
	}
	w.busy, w.moments = moments-w.moments >= w.worthwhile, moments
	if first := w.parts[0]; first.origin == timing.Never {
		first.runTo(end, true) // before the others, which have to know when events are
		for _, p := range w.parts {
			p.origin = first.origin
		}
	}
	going := w.which(func(p *part) bool { return p.going > 0 })
	w.each(going, func(p *part) { p.runTo(end, true) })
	if w.going() == 0 {
		end = moment{}
		for _, p := range w.parts {
			if p.now.compare(end) > 0 {
				end = p.now
			}
		}
	}
	w.each(w.which(func(p *part) bool { return p.next().compare(end) <= 0 }), func(p *part) { p.runTo(end, false) })
	return end
}

func (w *world) going() (sum int) {
	for _, p := range w.parts {
		sum += p.going
	}
	return sum
}

func (w *world) which(has func(*part) bool) (list []*part) {
	for _, p := range w.parts {
		if has(p) {
			list = append(list, p)
		}
	}
	return list
}

// each does something with parts, in parallel if there is enough to do.
func (w *world) each(parts []*part, do func(*part)) {
	workers := min(w.workers, len(parts))
	if workers < 2 || !w.busy {
		for _, p := range parts {
			do(p)
		}
		return
	}
	var all sync.WaitGroup
	var taken atomic.Int64
	for range workers {
		all.Go(func() {
			for i := taken.Add(1) - 1; int(i) < len(parts); i = taken.Add(1) - 1 {
				do(parts[i])
			}
		})
	}
	all.Wait()
}

// exchange passes to every part what has left others for it. For each packet that
// comes a free one goes back: what many lose others would have to make anew.
func (w *world) exchange(end time.Duration) error {
	for _, from := range w.parts {
		for _, c := range from.network.leaving {
			if c.due <= end {
				return fmt.Errorf("sim: a packet that is due at %v comes to a part that is at %v: its delay was to be at least %v", c.due, end, w.ahead)
			}
			to := c.to.part.network
			c.to.come(c)
			to.schedule(c.to)
			if last := len(to.free) - 1; last >= 0 {
				from.network.free = append(from.network.free, to.free[last])
				to.free = to.free[:last]
			}
		}
		clear(from.network.leaving)
		from.network.leaving = from.network.leaving[:0]
	}
	return nil
}

// tell shows the observer what the parts have noticed, in the order of time.
func (w *world) tell() {
	var all []notice
	for _, p := range w.parts {
		all = append(all, p.notices...)
		p.notices = p.notices[:0]
	}
	slices.SortFunc(all, func(a, b notice) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.kind, b.kind), cmp.Compare(a.number, b.number))
	})
	for _, n := range all {
		switch o := &w.run.Observer; {
		case n.kind == happened && o.Event != nil:
			o.Event(n.at, n.number)
		case n.kind == established && o.Established != nil:
			o.Established(n.at, n.number)
		}
	}
}

func (w *world) takeSamples() {
	now := w.sampleAt
	w.sampleAt += w.run.SampleInterval
	observer := &w.run.Observer
	for i, t := range w.transfers {
		if observer.Sample == nil {
			w.stats = Sample{} // what it holds is kept
		}
		s := &w.stats
		s.At, s.Transfer = now, i
		t.ends[0].session.ReadStats(&s.Sender)
		t.ends[1].session.ReadStats(&s.Receiver)
		if observer.Sample != nil {
			observer.Sample(now, i, &s.Sender, &s.Receiver)
		} else {
			w.samples = append(w.samples, *s)
		}
	}
	if observer.Links != nil {
		w.states = w.linkStates(w.states)
		observer.Links(now, w.states)
	}
}

// linkStates returns the state of every direction.
func (w *world) linkStates(into []linkmetrics.State) []linkmetrics.State {
	into = into[:0]
	for _, d := range w.directions {
		counts := d.Counts()
		_, held := d.Held()
		into = append(into, linkmetrics.State{
			Properties: d.Properties(), Counts: counts, Sent: d.sent, SentBytes: d.sentBytes, DelaySum: d.delaySum,
			HeldBytes: held + d.inHandBytes, Drops: counts.QueueFull + counts.QueueDelayed + d.lost,
		})
	}
	return into
}

func (w *world) result() *Result {
	r := &Result{EndedAt: w.now, Samples: w.samples}
	for _, t := range w.transfers {
		t.ends[0].session.ReadStats(&t.result.Sender)
		t.ends[1].session.ReadStats(&t.result.Receiver)
		t.result.EstablishedAt = t.result.Sender.EstablishedAt
		r.Transfers = append(r.Transfers, t.result)
	}
	for i := range w.run.Links {
		r.Links = append(r.Links, LinkResult{w.run.Links[i].Name, w.directions[2*i].Counts(), w.directions[2*i+1].Counts()})
	}
	return r
}
