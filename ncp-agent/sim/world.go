package sim

import (
	"fmt"
	"slices"
	"time"

	"ncp-testbed/link/record"
	"ncp-testbed/ncp-agent/session"
)

type world struct {
	run       *Run
	now       time.Duration
	network   *network
	transfers []*transfer
	byName    map[string]int // of transfers
	agenda    *agenda        // of transfers: when they next act by themselves
	touched   *list          // transfers that have something to do now
	going     int            // transfers that have not come to their end
	events    []Event        // in the order of time
	happened  int            // of these
	sampleAt  time.Duration
	samples   []Sample
	stats     Sample // reused
	states    []record.State
	buffers   map[uint32]*session.Buffers // of all sessions, by MTU
	zeros     [8192]byte
}

func newWorld(run *Run) (*world, error) {
	n, err := newNetwork(run)
	if err != nil {
		return nil, err
	}
	w := &world{
		run: run, network: n, events: slices.Clone(run.Events), byName: map[string]int{}, buffers: map[uint32]*session.Buffers{},
		agenda: newAgenda(len(run.Transfers), 0), touched: n.touched, going: len(run.Transfers),
	}
	slices.SortStableFunc(w.events, func(a, b Event) int { return int(a.At - b.At) })
	for i := range run.Transfers {
		t, err := w.newTransfer(i)
		if err != nil {
			return nil, fmt.Errorf("transfer %q: %w", run.Transfers[i].Name, err)
		}
		w.transfers = append(w.transfers, t)
		w.byName[t.config.Name] = i
	}
	for _, e := range w.events {
		if (e.Set != nil || e.Plug != nil) && n.link(e.Link) < 0 {
			return nil, unknown("link", e.Link)
		}
		if e.PauseRead > 0 {
			t := w.transfer(e.Transfer)
			if t == nil {
				return nil, unknown("transfer", e.Transfer)
			}
			if e.Connection < 0 || e.Connection >= len(t.config.Paths) {
				return nil, fmt.Errorf("sim: transfer %q has no connection %d", e.Transfer, e.Connection)
			}
		}
	}
	return w, nil
}

func (w *world) transfer(name string) *transfer {
	if i, ok := w.byName[name]; ok {
		return w.transfers[i]
	}
	return nil
}

// simulate goes from one time at which something happens to the next. At each,
// sessions whose deadlines have come are first, then packets that are due
// move, then come events, and what the applications and sockets of touched
// transfers do. A packet that arrives as a session looks what to acknowledge
// is too late for that, as on every host: a socket takes time to read, and a
// round trip of just two ACK intervals would else wait for no ACK at all.
func (w *world) simulate() error {
	for w.going > 0 && w.now < w.run.Until {
		w.applyEvents()
		if w.now >= w.sampleAt {
			w.touchAll()
		}
		for i, ok := w.touched.take(); ok; i, ok = w.touched.take() {
			if err := w.step(i); err != nil {
				return err
			}
		}
		w.takeSamples()
		next := min(w.run.Until, w.sampleAt, w.network.agenda.first(session.Never), w.agenda.first(session.Never))
		if at, ok := w.nextEvent(); ok {
			next = min(next, at)
		}
		w.now = max(w.now, next)
		w.agenda.due(w.now, w.touched)
		w.advance()
		w.network.deliver(w.now)
		w.advance() // what has arrived may have made something due
	}
	return nil
}

// advance does what is due in the transfers that something has happened to.
func (w *world) advance() {
	for _, i := range w.touched.numbers {
		w.transfers[i].advance(w.now)
	}
}

func (w *world) touchAll() {
	for i := range w.transfers {
		w.touched.add(i)
	}
}

// step lets a transfer act, and notes when it wants to again.
func (w *world) step(i int) error {
	t := w.transfers[i]
	t.step(w)
	if !t.over && t.result.ReceivedAt > 0 && t.result.AckedAt > 0 {
		t.over = true
		w.going--
	}
	at, ok := t.next(w.now)
	if !ok {
		return errStill
	}
	w.agenda.set(i, at)
	return nil
}

func (w *world) applyEvents() {
	for {
		at, ok := w.nextEvent()
		if !ok || at > w.now {
			return
		}
		e := &w.events[w.happened]
		if e.Set != nil || e.Plug != nil {
			w.network.apply(w.now, e)
		}
		if e.PauseRead > 0 {
			w.transfer(e.Transfer).ends[1].pause(e.Connection, w.now+e.PauseRead)
			w.touched.add(w.byName[e.Transfer])
		}
		if w.run.Observer.Event != nil {
			w.run.Observer.Event(w.now, w.happened)
		}
		w.happened++
	}
}

// nextEvent gives the time of the next event; there is none before the first
// transfer is established.
func (w *world) nextEvent() (at time.Duration, ok bool) {
	if w.happened == len(w.events) || w.transfers[0].ends[0].session.State() < session.Established {
		return 0, false
	}
	return w.transfers[0].ends[0].session.EstablishedAt() + w.events[w.happened].At, true
}

func (w *world) takeSamples() {
	if w.now < w.sampleAt {
		return
	}
	w.sampleAt += w.run.SampleInterval
	observer := &w.run.Observer
	for i, t := range w.transfers {
		if observer.Sample == nil {
			w.stats = Sample{} // what it holds is kept
		}
		s := &w.stats
		s.At, s.Transfer = w.now, i
		t.ends[0].session.ReadStats(&s.Sender)
		t.ends[1].session.ReadStats(&s.Receiver)
		if observer.Sample != nil {
			observer.Sample(w.now, i, &s.Sender, &s.Receiver)
		} else {
			w.samples = append(w.samples, *s)
		}
	}
	if observer.Links != nil {
		w.states = w.network.states(w.states)
		observer.Links(w.now, w.states)
	}
}

func (w *world) result() *Result {
	r := &Result{EndedAt: w.now, Samples: w.samples}
	for _, t := range w.transfers {
		t.ends[0].session.ReadStats(&t.result.Sender)
		t.ends[1].session.ReadStats(&t.result.Receiver)
		t.result.EstablishedAt = t.result.Sender.EstablishedAt
		r.Transfers = append(r.Transfers, t.result)
	}
	for i, name := range w.network.names {
		r.Links = append(r.Links, LinkResult{name, w.network.directions[2*i].Counts(), w.network.directions[2*i+1].Counts()})
	}
	return r
}
