// Package overlay makes an overlay network out of a seed and runs it in virtual
// time: many sessions, whose connections each cross one of many relay nodes.
// Rates and delays of relays are heavy-tailed, sessions start over time, and
// relays go away and come back.
package overlay

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"ncp-testbed/internal/linkmodel"
	"ncp-testbed/internal/timing"
	"ncp-testbed/ncp-agent/session"
	"ncp-testbed/ncp-agent/sim"
)

// Parameters are what an overlay is made of.
type Parameters struct {
	Sessions int     `json:"sessions"`
	Seed     uint64  `json:"seed"`
	Policy   string  `json:"policy"`
	Seconds  float64 `json:"seconds"` // of virtual time

	Connections      int     `json:"connections"`        // of a session, each over a relay of its own
	RelaysPerSession float64 `json:"relays_per_session"` // relays are shared
	StartsWithinS    float64 `json:"starts_within_s"`    // sessions start evenly spread over this time

	Rate  Pareto `json:"rate_pps"` // of a relay, packets per second
	Delay Pareto `json:"delay_ms"` // of a relay, one way

	QueueMS      float64 `json:"queue_ms"`      // of a relay: drop-tail, at least QueuePackets
	QueuePackets int     `json:"queue_packets"` // and so many packets
	AccessPPS    float64 `json:"access_pps"`    // of a session's own links at both ends
	AccessMS     float64 `json:"access_ms"`     // their delay
	UpS          float64 `json:"up_s"`          // mean time until a relay goes away, exponential
	DownS        float64 `json:"down_s"`        // mean time that it is away, exponential
}

// Pareto is a Pareto distribution that is cut off: what lies beyond is Most.
type Pareto struct {
	Least float64 `json:"least"`
	Shape float64 `json:"shape"`
	Most  float64 `json:"most"`
}

// Default returns the overlay of the documentation for a number of sessions.
func Default(sessions int, seed uint64) Parameters {
	return Parameters{
		Sessions: sessions, Seed: seed, Policy: "delivery-rate", Seconds: 60,
		Connections: 8, RelaysPerSession: 1, StartsWithinS: 20,
		Rate: Pareto{32, 1.5, 2048}, Delay: Pareto{5, 1.5, 500},
		QueueMS: 100, QueuePackets: 10, AccessPPS: 4096, AccessMS: 2, UpS: 120, DownS: 3,
	}
}

// draw returns a value by inverting the distribution.
func (p Pareto) draw(r *rand.Rand) float64 {
	return round(min(p.Most, p.Least*math.Pow(1-r.Float64(), -1/p.Shape)))
}

// round takes away the last digits: processors differ in those of a power and
// of a logarithm.
func round(x float64) float64 { return math.Round(x*1024) / 1024 }

// relay is one relay node: its link carries all connections that cross it.
type relay struct {
	name        string
	ratePPS     float64
	connections []crossing
}

// crossing is a connection that crosses a relay.
type crossing struct{ session, connection int }

// network is an overlay, ready to run.
type network struct {
	run    sim.Run
	relays []relay
}

func (p Parameters) validate() error {
	if p.Sessions < 1 || p.Sessions > 100_000 {
		return fmt.Errorf("overlay: %d sessions, want 1 to 100000", p.Sessions)
	}
	if p.Seconds <= p.StartsWithinS {
		return fmt.Errorf("overlay: %v s, want more than %v, in which sessions start", p.Seconds, p.StartsWithinS)
	}
	return nil
}

// generate makes the overlay. What a relay is like follows from the seed and
// its number, what a session does from the seed and its number.
func (p Parameters) generate() network {
	n := network{run: sim.Run{Seed: p.Seed, Until: timing.Seconds(p.Seconds)}}
	// A session needs a relay for each connection, however few sessions there are.
	count := max(p.Connections, int(math.Ceil(p.RelaysPerSession*float64(p.Sessions))))
	for i := range count {
		r := rand.New(rand.NewPCG(p.Seed, uint64(i)))
		n.addRelay(p, i, r)
	}
	for i := range p.Sessions {
		r := rand.New(rand.NewPCG(p.Seed, 1<<32+uint64(i)))
		n.addSession(p, i, r)
	}
	slices.SortStableFunc(n.run.Events, func(a, b sim.Event) int { return int(a.At - b.At) })
	return n
}

func (n *network) addRelay(p Parameters, number int, r *rand.Rand) {
	name := fmt.Sprint("relay", number)
	properties := linkmodel.Properties{FramesPPS: p.Rate.draw(r), DelayMS: p.Delay.draw(r)}
	packets := max(p.QueuePackets, int(properties.FramesPPS*p.QueueMS/1e3))
	properties.Queue = linkmodel.Queue{Mode: linkmodel.QueueDropTail, Packets: packets}
	n.run.Links = append(n.run.Links, sim.Link{Name: name, AB: properties, BA: properties})
	n.relays = append(n.relays, relay{name: name, ratePPS: properties.FramesPPS})
	up := true
	for at := 0.0; ; up = !up {
		mean := p.UpS
		if !up {
			mean = p.DownS
		}
		if at += round(r.ExpFloat64() * mean); at >= p.Seconds {
			return
		}
		carrier := !up
		n.run.Events = append(n.run.Events, sim.Event{At: timing.Seconds(at), Link: name, Up: &carrier})
	}
}

// addSession makes a session with a link of its own at each end: a host waits
// for room in its own queue, and what comes to it meets a queue that drops.
func (n *network) addSession(p Parameters, number int, r *rand.Rand) {
	name := fmt.Sprint("session", number)
	out := linkmodel.Properties{
		FramesPPS: p.AccessPPS, DelayMS: p.AccessMS, Queue: linkmodel.Queue{Mode: linkmodel.QueueBackPressure, Packets: 16},
	}
	in := out
	in.Queue = linkmodel.Queue{Mode: linkmodel.QueueDropTail, Packets: 256}
	from, to := name+".from", name+".to"
	n.run.Links = append(n.run.Links, sim.Link{Name: from, AB: out, BA: in}, sim.Link{Name: to, AB: in, BA: out})
	t := sim.Transfer{Name: name, Bytes: math.MaxInt64}
	var ids []string
	for c, which := range r.Perm(len(n.relays))[:p.Connections] {
		n.relays[which].connections = append(n.relays[which].connections, crossing{number, c})
		t.Paths = append(t.Paths, []string{from, n.relays[which].name, to})
		ids = append(ids, n.relays[which].name)
	}
	t.Sender, t.Receiver = session.Default(ids...), session.Default(ids...)
	t.Sender.Policy, t.Receiver.Policy = p.Policy, p.Policy
	// The first session starts at once: relays' times count from it.
	t.Start = timing.Seconds(p.StartsWithinS * float64(number) / float64(p.Sessions))
	n.run.Transfers = append(n.run.Transfers, t)
}
