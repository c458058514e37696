package probe

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"ncp-testbed/internal/linkmodel"
	"ncp-testbed/internal/plan"
	"ncp-testbed/internal/timing"
)

// Measurement is what was found of one direction of a link. Pointers are nil where nothing was measured: no
// packet came through, or the link has no rate.
type Measurement struct {
	Link      string              `json:"link"`
	Direction linkmodel.Direction `json:"direction"`
	// DelayMS is the median one-way delay from the sender's interface to the receiver's, of DelaySamples.
	DelayMS      *float64 `json:"delay_ms"`
	DelayP99MS   *float64 `json:"delay_p99_ms"`
	DelaySamples int      `json:"delay_samples"`
	// RateBPS counts frames without FCS. It is the median of stretches of together RateFrames frames.
	RateBPS    *float64 `json:"rate_bps"`
	RateFrames int      `json:"rate_frames"`
	// Loss is the share of Sent that was not received.
	Loss     float64 `json:"loss"`
	Sent     int     `json:"sent"`
	Received int     `json:"received"`
}

// direction is one direction of a link while it is measured.
type direction struct {
	link        *plan.Link
	name        linkmodel.Direction
	middle      *linkmodel.Properties
	from        sender
	to          receiver
	destination netip.AddrPort
	frameBytes  int
	sent        [steps]int
	stamps      map[uint32]timing.Unix
}

// sender and receiver are what an end of a link does, on this machine or on another one.
type sender interface {
	send(context.Context, Batch) (Sent, error)
}

type receiver interface {
	received(step byte) ([]arrival, error)
	receivedCount(step byte) (int, error)
}

// end is both.
type end interface {
	sender
	receiver
	close()
}

// Options bound the measurement.
type Options struct {
	// Namespaces are the paths of the hosts' network namespaces.
	Namespaces map[string]string
	// Far are the hosts on other machines.
	Far map[string]Machine
	// Seconds is how long rate and loss are measured, each.
	Seconds float64
}

// Run measures all links of a plan. When it returns, no packet of it is under way any more.
func Run(ctx context.Context, p *plan.Plan, o Options) ([]Measurement, error) {
	directions, closeAll, err := open(p, o)
	defer closeAll()
	if err != nil {
		return nil, err
	}
	duration := time.Duration(o.Seconds * float64(time.Second))
	all := [][]*direction{directions}
	for _, step := range []struct {
		of  [][]*direction
		run func(*direction) error
	}{
		{all, func(d *direction) error { return d.hello(ctx) }},
		{all, func(d *direction) error { return d.delays(ctx) }},
		{rounds(directions), func(d *direction) error { return d.blast(ctx, duration) }},
		{all, func(d *direction) error { return d.losses(ctx, duration) }},
	} {
		for _, some := range step.of {
			if err := together(some, step.run); err != nil {
				return nil, err
			}
		}
	}
	measurements := make([]Measurement, 0, len(directions))
	for _, d := range directions {
		m, err := d.measurement()
		if err != nil {
			return nil, fmt.Errorf("link %s, direction %s: %w", d.link.Name, d.name, err)
		}
		measurements = append(measurements, m)
	}
	return measurements, nil
}

// open makes the sockets of all links.
func open(p *plan.Plan, o Options) (all []*direction, closeAll func(), err error) {
	var endpoints []end
	closeAll = func() {
		var all sync.WaitGroup
		for _, e := range endpoints { // at once: a machine may not answer any more
			all.Go(e.close)
		}
		all.Wait()
	}
	for i := range p.Links {
		link := &p.Links[i]
		ends := [2]plan.End{link.A, link.B}
		var pair [2]end
		for e, end := range ends {
			if pair[e], err = o.openEnd(end); err != nil {
				return nil, closeAll, fmt.Errorf("link %s: %w", link.Name, err)
			}
			endpoints = append(endpoints, pair[e])
		}
		for e, name := range linkmodel.Directions {
			address, err := netip.ParseAddr(ends[1-e].Address)
			if err != nil {
				return nil, closeAll, err
			}
			all = append(all, &direction{
				link: link, name: name, middle: &link.Emulated[e], from: pair[e], to: pair[1-e],
				destination: netip.AddrPortFrom(address, port),
				frameBytes:  max(link.FrameBytes, headerBytes+packetBytes),
			})
		}
	}
	return all, closeAll, nil
}

func (o Options) openEnd(at plan.End) (end, error) {
	if machine, ok := o.Far[at.Host]; ok {
		return machine.open(at)
	}
	path, ok := o.Namespaces[at.Host]
	if !ok {
		return nil, fmt.Errorf("--netns %s=PATH: not given", at.Host)
	}
	return openEndpoint(at, path)
}

// mostFramesPerSecond limits the frames that are sent at once to measure rates: two cores send and receive that many on
// time. A run rarely fills all of its links in both directions, and its own lateness is measured while it runs.
const mostFramesPerSecond = 15_000

// rounds groups the directions, in order, by mostFramesPerSecond; a direction that exceeds it is measured alone.
func rounds(directions []*direction) (all [][]*direction) {
	left := 0.0
	for _, d := range directions {
		frames := d.blastedPerSecond()
		if frames > left || len(all) == 0 {
			all, left = append(all, nil), mostFramesPerSecond
		}
		all[len(all)-1] = append(all[len(all)-1], d)
		left -= frames
	}
	return all
}

// together runs a step for all directions at once and waits for the last.
func together(directions []*direction, step func(*direction) error) error {
	failed := make([]error, len(directions))
	var all sync.WaitGroup
	for i, d := range directions {
		all.Go(func() {
			if err := step(d); err != nil {
				failed[i] = fmt.Errorf("link %s, direction %s: %w", d.link.Name, d.name, err)
			}
		})
	}
	all.Wait()
	return errors.Join(failed...)
}

// longestDelay is what a frame may be under way for: a generous bound, not an estimate.
func (d *direction) longestDelay() time.Duration {
	ms := d.middle.DelayMS + 5*d.middle.JitterMS
	for _, sample := range d.middle.JitterSamplesMS {
		ms = max(ms, d.middle.DelayMS+sample)
	}
	return time.Duration(ms*float64(time.Millisecond)) + 50*time.Millisecond
}

// sentFrame is how long the link's rate takes for a frame; 0 without a rate.
func (d *direction) sentFrame(bytes int) time.Duration {
	if d.link.RateBPS <= 0 {
		return 0
	}
	return time.Duration(float64(bytes) * 8 / d.link.RateBPS * float64(time.Second))
}

// hello sends until a packet has come through, so that addresses are resolved, or until it is clear that none
// will. A link that loses everything is a finding, not an error.
func (d *direction) hello(ctx context.Context) error {
	deadline := time.Now().Add(2*time.Second + 4*d.longestDelay())
	for time.Now().Before(deadline) {
		if answers, err := d.answers(); answers || err != nil {
			return errors.Join(err, d.settle(ctx, stepHello))
		}
		if _, err := d.send(ctx, Batch{Step: stepHello, Packets: 1, PayloadBytes: packetBytes}); err != nil {
			return err
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return d.settle(ctx, stepHello)
}

// answers reports whether a hello has come through.
func (d *direction) answers() (bool, error) {
	received, err := d.to.receivedCount(stepHello)
	return received > 0, err
}

// settle waits until nothing of a step is under way.
func (d *direction) settle(ctx context.Context, step byte) error {
	deadline := time.Now().Add(d.longestDelay() + d.middleQueue())
	for time.Now().Before(deadline) {
		if received, err := d.to.receivedCount(step); err != nil || received >= d.sent[step] {
			return err
		}
		if err := sleep(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// middleQueue is how long a frame may wait in the middle, where the link is shaped there.
func (d *direction) middleQueue() time.Duration {
	if d.link.ShapedAtHosts() {
		return 0
	}
	return 2 * time.Second
}

func sleep(ctx context.Context, duration time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(duration):
		return nil
	}
}
