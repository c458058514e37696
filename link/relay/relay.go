package relay

import (
	"errors"
	"runtime"

	"golang.org/x/sys/unix"

	"ncp-testbed/link/model"
	"ncp-testbed/link/plan"
)

var errEnded = errors.New("the relay has ended")

// Relay forwards the frames of a run's links.
type Relay struct {
	loop    *loop
	granted Granted
	changes []*Change // the loop's own
	samples []Sample  // the loop's own, see Sample
}

// Open binds to the middle interfaces of all links, in the current network namespace. Frames that arrive from
// now on are kept until Run forwards them. warn is told, once each, of what should not be.
func Open(links []plan.Link, warn func(format string, arguments ...any)) (*Relay, error) {
	l, err := newLoop(warn)
	if err != nil {
		return nil, err
	}
	r := &Relay{loop: l}
	maxMTU := 0
	for i := range links {
		link := &links[i]
		var ends [2]*port
		for e, name := range []string{link.A.MiddleInterface, link.B.MiddleInterface} {
			p, err := openPort(name)
			if err != nil {
				return nil, err
			}
			if err := l.watch(p.fd, len(l.ports), unix.EPOLLIN); err != nil {
				return nil, err
			}
			l.ports = append(l.ports, p)
			ends[e] = p
			maxMTU = max(maxMTU, p.mtu)
		}
		for i, name := range plan.Directions {
			from, to := ends[i], ends[1-i]
			d := &direction{link: link.Name, name: name, from: from, to: to, next: never, lateness: &histogram{}}
			d.model = model.NewDirection(link.Middle[i], link.Seed, link.Name, name, l.now(), model.Hooks[int32]{
				Drop: func(buffer int32, _ model.Cause) { l.pool.give(buffer) },
				Copy: func(buffer int32) (int32, bool) { return l.pool.clone(buffer) },
			})
			from.arriving, to.delivered = d, d
			l.directions = append(l.directions, d)
			r.samples = append(r.samples, Sample{Lateness: &histogram{}})
		}
	}
	if l.pool, err = newPool(maxMTU + maxHeaderBytes); err != nil {
		return nil, err
	}
	return r, nil
}

// Run forwards until Stop, on a thread of its own. It calls ready when it begins.
func (r *Relay) Run(ready func(Granted)) error {
	runtime.LockOSThread() // for good: the thread has the priority
	r.granted = acquire()
	ready(r.granted)
	return r.loop.run()
}

// Stop ends Run. Frames under way are lost.
func (r *Relay) Stop() { r.loop.do(func() { r.loop.stopping = true }) }
