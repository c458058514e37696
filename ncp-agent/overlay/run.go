package overlay

import (
	"time"

	"ncp-testbed/internal/rusage"
	"ncp-testbed/internal/timing"
	"ncp-testbed/ncp-agent/session"
	"ncp-testbed/ncp-agent/sim"
)

// Report is the outcome of an overlay. All but Cost is the same on every run and
// machine.
type Report struct {
	Parameters  Parameters `json:"parameters"`
	Sessions    []Session  `json:"sessions"`
	Relays      []Relay    `json:"relays"`
	Packets     uint64     `json:"packets"`      // handed to links, at every hop
	DataPackets uint64     `json:"data_packets"` // that arrived at receivers
	Cost        Cost       `json:"cost"`
}

// Session is one session's part of a report.
type Session struct {
	StartS float64 `json:"start_s"`
	// GoodputBPS is what the application got per second in the second half of
	// the time, when all sessions are there.
	GoodputBPS float64 `json:"goodput_bps"`
	// EvenBPS is what it would get of relays that share their rate evenly among
	// the connections that cross them, of 1024-byte packets.
	EvenBPS float64 `json:"even_bps"`
	// ConvergedS is the time since its handshake at which its goodput over a
	// second first reaches 90% of its later mean, which starts 10 s after the
	// handshake; null: it never does.
	ConvergedS *float64 `json:"converged_s"`
}

// Relay is one relay's part of a report.
type Relay struct {
	RatePPS     float64 `json:"rate_pps"`
	Connections int     `json:"connections"`
	// Jain is Jain's index of the packets that its connections brought in the
	// second half of the time; 0 with fewer than two connections.
	Jain float64 `json:"jain"`
	// Use is the share of its rate that was used in that time.
	Use float64 `json:"use"`
}

// Cost is what the run took.
type Cost struct {
	CPUS      float64 `json:"cpu_s"`
	WallS     float64 `json:"wall_s"`
	PeakBytes int64   `json:"peak_bytes"` // resident memory of the process
}

// sampleInterval is how often sessions are looked at.
const sampleInterval = 250 * time.Millisecond

// watch keeps what a report needs of the samples.
type watch struct {
	read        [][]uint64 // by session and sample: bytes that the application has
	established []time.Duration
	halfway     time.Duration
	half, end   [][]uint64 // by session and connection: data packets that arrived
}

// Run makes an overlay and runs it.
func Run(p Parameters) (*Report, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	n := p.generate()
	w := &watch{
		read: make([][]uint64, p.Sessions), established: make([]time.Duration, p.Sessions),
		half: make([][]uint64, p.Sessions), end: make([][]uint64, p.Sessions), halfway: timing.Seconds(p.Seconds / 2),
	}
	n.run.SampleInterval, n.run.Observer.Sample = sampleInterval, w.sample
	begun, begunCPU := time.Now(), rusage.CPU()
	result, err := sim.Simulate(n.run)
	if err != nil {
		return nil, err
	}
	report := &Report{Parameters: p}
	report.Cost = Cost{(rusage.CPU() - begunCPU).Seconds(), time.Since(begun).Seconds(), rusage.PeakBytes()}
	for _, l := range result.Links {
		report.Packets += l.AB.In + l.BA.In
	}
	for i := range result.Transfers {
		w.end[i] = received(w.end[i], &result.Transfers[i].Receiver)
		for _, packets := range w.end[i] {
			report.DataPackets += packets
		}
	}
	report.Relays, report.Sessions = w.relays(&n, p), w.sessions(&n, p)
	return report, nil
}

func (w *watch) sample(now time.Duration, i int, sender, receiver *session.Stats) {
	w.read[i] = append(w.read[i], receiver.ReadBytes)
	w.established[i] = sender.EstablishedAt
	if now <= w.halfway {
		w.half[i] = received(w.half[i], receiver)
	}
}

func received(into []uint64, receiver *session.Stats) []uint64 {
	into = into[:0]
	for i := range receiver.Connections {
		into = append(into, receiver.Connections[i].Received)
	}
	return into
}

func (w *watch) relays(n *network, p Parameters) []Relay {
	var list []Relay
	for _, r := range n.relays {
		sum, squares := 0.0, 0.0
		for _, c := range r.connections {
			x := float64(w.end[c.session][c.connection] - w.half[c.session][c.connection])
			sum += x
			squares += float64(x * x) // rounded, as on machines that don't fuse
		}
		found := Relay{RatePPS: r.ratePPS, Connections: len(r.connections), Use: sum / (r.ratePPS * p.Seconds / 2)}
		if len(r.connections) > 1 && squares > 0 {
			found.Jain = sum * sum / (squares * float64(len(r.connections)))
		}
		list = append(list, found)
	}
	return list
}

func (w *watch) sessions(n *network, p Parameters) []Session {
	list := make([]Session, p.Sessions)
	for _, r := range n.relays {
		for _, c := range r.connections {
			list[c.session].EvenBPS += float64(r.ratePPS / float64(len(r.connections)) * 1024 * 8)
		}
	}
	for i := range list {
		s, read := &list[i], w.read[i]
		s.StartS = n.run.Transfers[i].Start.Seconds()
		half, last := int(w.halfway/sampleInterval), len(read)-1
		s.GoodputBPS = rateBPS(read, half, last)
		s.ConvergedS = w.converged(i)
	}
	return list
}

// rateBPS is the goodput between two samples.
func rateBPS(read []uint64, from, to int) float64 {
	if to <= from {
		return 0
	}
	return float64(read[to]-read[from]) * 8 / (time.Duration(to-from) * sampleInterval).Seconds()
}

// converged returns when a session's goodput first was near its later mean.
func (w *watch) converged(i int) *float64 {
	const second, later = int(time.Second / sampleInterval), 10 * time.Second
	read, start := w.read[i], w.established[i]
	if start == 0 {
		return nil
	}
	mean := rateBPS(read, int((start+later)/sampleInterval), len(read)-1)
	for to := int(start/sampleInterval) + second; to < len(read); to++ {
		if rateBPS(read, to-second, to) >= 0.9*mean {
			s := (time.Duration(to)*sampleInterval - start).Seconds()
			return &s
		}
	}
	return nil
}
