package relay

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"slices"
	"time"

	"ncp-testbed/internal/controlsocket"
	"ncp-testbed/internal/linkmodel"
	"ncp-testbed/internal/plan"
	"ncp-testbed/internal/timing"
)

var errEnded = controlsocket.Refused(controlsocket.CodeConflict, "the relay has ended")

// Relay forwards the frames of a run's links.
type Relay struct {
	loop       *loop
	privileges Privileges
	changes    []*Change // the loop's own
	samples    []Sample  // the loop's own, see Sample
	backlog    *backlog
}

// awaitPause is between two looks for the interfaces.
const awaitPause = 20 * time.Millisecond

// await returns the middle interfaces of all links when they are there, or an error that names one which is not after a
// time.
func await(ctx context.Context, links []plan.Link, patience time.Duration) ([]*net.Interface, error) {
	for deadline := time.Now().Add(patience); ; time.Sleep(awaitPause) {
		devices, err := middles(links)
		if err == nil || ctx.Err() != nil || time.Now().After(deadline) {
			return devices, err
		}
	}
}

// Prepared is what a relay can have before its links are there: the memory in which the kernel puts frames, which
// takes more time than all else.
type Prepared struct{ receiver *receiver }

// Prepare has it made, for frames of Ethernet's size, in the current network namespace.
func Prepare() (Prepared, error) {
	r, err := openReceiver(ethernetMTU + maxHeaderBytes)
	return Prepared{r}, err
}

// Open binds to the middle interfaces of all links, in the current network namespace, with what is prepared if it is:
// from when they are there, for which it waits so long. Frames that arrive from now on are kept until Run forwards them.
// warn is called, once each, with what should not be.
func Open(
	ctx context.Context, links []plan.Link, prepared Prepared, wait time.Duration, warn func(format string, arguments ...any),
) (_ *Relay, err error) {
	l, err := newLoop(warn)
	if err != nil {
		return nil, err
	}
	l.receiver = prepared.receiver
	r := &Relay{loop: l}
	defer func() {
		if err != nil {
			r.Close()
		}
	}()
	devices, err := await(ctx, links, wait)
	if err != nil {
		return nil, err
	}
	maxMTU, maxIndex := 0, 0
	for _, device := range devices {
		maxMTU, maxIndex = max(maxMTU, device.MTU), max(maxIndex, device.Index)
	}
	if l.pool, err = newPool(poolFrames, 0, maxMTU+maxHeaderBytes); err != nil {
		return nil, err
	}
	if l.sender, err = openSender(false); err != nil {
		return nil, err
	}
	var indexes, whole []int // of interfaces by which frames arrive, and of those by which whole segments do
	for i := range links {
		for _, device := range devices[2*i : 2*i+2] {
			if links[i].WholeSegments {
				whole = append(whole, device.Index)
			} else {
				indexes = append(indexes, device.Index)
			}
		}
	}
	if len(whole) > 0 {
		if l.segments, err = openSegments(whole); err != nil {
			return nil, err
		}
		if l.segmentSender, err = openSender(true); err != nil {
			return nil, err
		}
	}
	l.arriving = slices.Repeat([]int32{-1}, maxIndex+1)
	for i := range links {
		link := &links[i]
		ends := devices[2*i : 2*i+2]
		for e, name := range linkmodel.Directions {
			d := &direction{
				index: len(l.directions), link: link.Name, name: name, to: ends[1-e], lateness: &histogram{},
				pool: l.pool, sender: l.sender,
			}
			if link.WholeSegments {
				d.pool, d.sender = l.segments.pool, l.segmentSender
			}
			d.model = linkmodel.NewPipe(link.Emulated[e], link.Seed, link.Name, name, l.clock.now(), linkmodel.Hooks[int32]{
				Drop: func(buffer int32, _ linkmodel.Cause) { d.pool.give(buffer) },
				Copy: func(buffer int32) (int32, bool) { return d.pool.clone(buffer) },
			})
			l.arriving[ends[e].Index] = int32(d.index)
			l.directions = append(l.directions, d)
			l.next = append(l.next, timing.Never)
			r.samples = append(r.samples, Sample{Lateness: &histogram{}})
		}
	}
	if l.receiver != nil && !l.receiver.takes(maxMTU+maxHeaderBytes) {
		l.receiver.close()
		l.receiver = nil
	}
	if l.receiver == nil {
		if l.receiver, err = openReceiver(maxMTU + maxHeaderBytes); err != nil {
			return nil, err
		}
	}
	if err = l.receiver.listen(indexes); err != nil {
		return nil, err
	}
	if r.backlog, err = openBacklog(); err != nil {
		return nil, err
	}
	arrivals := []int{l.receiver.fd}
	if l.segments != nil {
		arrivals = append(arrivals, l.segments.fd)
	}
	if l.waiter, err = newWaiter(l.monotonicBase, l.clock.now, arrivals...); err != nil {
		return nil, err
	}
	l.changed()
	return r, nil
}

// middles are the interfaces of the links' middles: a and b of the first link, a and b of the second …
func middles(links []plan.Link) ([]*net.Interface, error) {
	// All in one request: package net asks for all of them to find one.
	all, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("interfaces: %w", err)
	}
	byName := map[string]*net.Interface{}
	for i := range all {
		byName[all[i].Name] = &all[i]
	}
	var devices []*net.Interface
	for i := range links {
		for _, end := range []plan.End{links[i].A, links[i].B} {
			device := byName[end.MiddleInterface]
			if device == nil {
				return nil, fmt.Errorf("link %s: interface %s: there is none", links[i].Name, end.MiddleInterface)
			}
			devices = append(devices, device)
		}
	}
	return devices, nil
}

// Run forwards until Stop, on a thread of its own. It calls ready when it begins.
func (r *Relay) Run(ready func()) error {
	runtime.LockOSThread() // for good: the thread has the timer slack
	r.privileges = acquire()
	ready()
	return r.loop.run()
}

// Privileges returns what the machine let the relay have.
func (r *Relay) Privileges() (g Privileges) {
	read := func() { g = r.privileges }
	if !r.loop.do(read) {
		read()
	}
	return g
}

// Stop ends Run. Frames under way are lost.
func (r *Relay) Stop() { r.loop.do(func() { r.loop.stopping = true }) }

// fail ends Run with an error.
func (r *Relay) fail(err error) {
	r.loop.do(func() { r.loop.stopping, r.loop.broken = true, err })
}

// Close gives back what Open took, or has taken before it failed, once Run has ended.
func (r *Relay) Close() {
	l := r.loop
	if l.receiver != nil {
		l.receiver.close()
	}
	for _, s := range []*sender{l.sender, l.segmentSender} {
		if s != nil {
			s.close()
		}
	}
	if l.segments != nil {
		l.segments.close()
	}
	if l.waiter != nil {
		l.waiter.close()
	}
	if l.pool != nil {
		l.pool.close()
	}
	if r.backlog != nil {
		r.backlog.close()
	}
}
