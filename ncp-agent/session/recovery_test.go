package session

import (
	"testing"
	"time"

	"ncp-testbed/internal/timing"
	"ncp-testbed/ncp-agent/policy"
	"ncp-testbed/ncp-agent/wire"
)

func deliveryRate(c *Config) { c.Policy = "delivery-rate" }

// sendAll takes what a connection sends until a time, a step apart, and gives
// the sequences.
func sendAll(t *testing.T, s *Session, conn int, from, until, step time.Duration) (sequences []uint32) {
	t.Helper()
	for now := from; now <= until; now += step {
		for {
			p, ok := take(t, now, conn, s)
			if !ok {
				break
			}
			sequences = append(sequences, p.Sequence)
		}
	}
	return sequences
}

func receive(t *testing.T, now time.Duration, conn int, s *Session, p wire.Packet) {
	t.Helper()
	if err := s.Receive(now, conn, p.Append(nil)); err != nil {
		t.Fatal(err)
	}
}

// Packets that newer ones overtook by more than three are sent again, once.
func TestOvertakenPacketsAreSentAgain(t *testing.T) {
	a, _ := pair(t, 1, deliveryRate)
	writeAll(t, 0, a, 20*1024)
	if got := len(sendAll(t, a, 0, 0, 50*ms, ms)); got != 20 {
		t.Fatalf("sent %d packets", got)
	}
	receive(t, 150*ms, 0, a, wire.Packet{AckStarts: []uint32{1, 6}, AckCounts: []uint32{2, 5}})
	if got := a.conns[0].inFlight; got != 10 {
		t.Errorf("%d in flight after 7 were acknowledged and 3 lost, want 10", got)
	}
	again := sendAll(t, a, 0, 150*ms, 200*ms, ms)
	if len(again) != 3 || again[0] != 3 || again[2] != 5 {
		t.Errorf("sent %v again, want 3, 4 and 5", again)
	}
	receive(t, 250*ms, 0, a, wire.Packet{AckStarts: []uint32{11}, AckCounts: []uint32{2}})
	if more := sendAll(t, a, 0, 250*ms, 300*ms, ms); len(more) != 0 {
		t.Errorf("sent %v too", more)
	}
	checkSession(t, a)
}

// An acknowledgement with as many ranges as there may be says nothing of what
// lies above its highest sequence: the peer has yet to acknowledge that.
func TestFullAcknowledgementIsNoProofOfLoss(t *testing.T) {
	for _, maxRanges := range []int{8, 32, 48} {
		fullAcknowledgement(t, maxRanges)
	}
}

func fullAcknowledgement(t *testing.T, maxRanges int) {
	a, _ := pair(t, 2, func(c *Config) { c.Policy, c.MaxAckRanges = "delivery-rate", maxRanges })
	for range 2 {
		writeAll(t, 0, a, 64*1024)
		sendAll(t, a, 0, a.now, a.now+100*ms, ms)
	}
	c := &a.conns[0]
	if c.inFlight < 2*maxRanges {
		t.Fatalf("only %d in flight", c.inFlight)
	}
	before := c.inFlight
	full := wire.Packet{}
	for i := range uint32(maxRanges) {
		full.AckStarts = append(full.AckStarts, 2*i+1)
	}
	// A resend of a low sequence would look like this: sent last, acknowledged first.
	c.newest, c.newestSent = c.flights.end, a.now
	receive(t, a.now+100*ms, 0, a, full)
	if lost := before - maxRanges - c.inFlight; lost != maxRanges-1 {
		t.Errorf("of %d ranges: %d taken for lost, want the %d below the highest", maxRanges, lost, maxRanges-1)
	}
}

// What the peer's application has read needs no acknowledgement, but its
// connection still waits for that, to measure.
func TestReadDataCountsAsAcknowledged(t *testing.T) {
	a, _ := pair(t, 1, deliveryRate)
	writeAll(t, 0, a, 10*1024)
	sendAll(t, a, 0, 0, 50*ms, ms)
	receive(t, 150*ms, 0, a, wire.Packet{BytesRead: 4 * 1024})
	if a.Unacknowledged() != 6 || a.conns[0].inFlight != 10 {
		t.Errorf("%d unacknowledged and %d in flight, want 6 and 10", a.Unacknowledged(), a.conns[0].inFlight)
	}
	receive(t, 160*ms, 0, a, wire.Packet{AckCounts: []uint32{10}})
	if a.Unacknowledged() != 0 || a.conns[0].inFlight != 0 || a.sender.segments.len() != 0 {
		t.Errorf("%d unacknowledged, %d in flight, %d held", a.Unacknowledged(), a.conns[0].inFlight, a.sender.segments.len())
	}
	checkSession(t, a)
}

// A connection that has gone silent gives all that it carries to the other,
// and carries single copies until one is acknowledged.
func TestSilentConnectionOnlyProbes(t *testing.T) {
	a, _ := pair(t, 2, deliveryRate)
	writeAll(t, 0, a, 20*1024)
	sendAll(t, a, 1, 0, 30*ms, ms)
	carried := a.conns[1].inFlight
	if carried == 0 {
		t.Fatal("nothing in flight")
	}
	now := a.caps.Recovery.RTO(1) + 100*ms
	a.Advance(now)
	if got := a.conns[1].inFlight; got != 0 {
		t.Errorf("%d still in flight", got)
	}
	if got := sendAll(t, a, 1, now, now+100*ms, ms); len(got) != 1 || got[0] != 1 {
		t.Errorf("the silent connection sent %v, want a copy of the first", got)
	}
	now += 100 * ms
	if got := sendAll(t, a, 0, now, now+100*ms, ms); len(got) < carried {
		t.Errorf("the other sent %d packets, want all %d at least", len(got), carried)
	}
	receive(t, now+150*ms, 1, a, wire.Packet{AckStarts: []uint32{1}})
	if a.caps.Recovery.Probing(1) {
		t.Error("still silent after an acknowledgement")
	}
	checkSession(t, a)
}

// Two connections that take turns packet by packet still carry runs.
func TestConnectionsCarryRuns(t *testing.T) {
	a, _ := pair(t, 2, deliveryRate)
	writeAll(t, 0, a, 60*1024)
	breaks, last := 0, [2]uint32{}
	for now := time.Duration(0); now < 25*ms; now += ms {
		for c := range 2 {
			if p, ok := take(t, now, c, a); ok {
				if p.Sequence != last[c]+1 {
					breaks++
				}
				last[c] = p.Sequence
			}
		}
	}
	if breaks > 6 || last[0] == 0 || last[1] == 0 {
		t.Errorf("%d breaks up to %v, want few", breaks, last)
	}
}

// everyTen sends a packet every 10 ms, at most 3 in flight, and leaves the rest
// to the session.
type everyTen struct {
	policy.Policy
	at time.Duration
}

func (p *everyTen) SendAt(_ int, _ time.Duration, inFlight int) time.Duration {
	if inFlight == 3 {
		return timing.Never
	}
	return p.at
}

func (p *everyTen) Sent(_ int, now time.Duration, _ int, _ bool) policy.Mark {
	p.at = now + 10*ms
	return policy.Mark{}
}

// A policy may bring a pace and nothing else: losses are upstream's timeouts.
func TestPacerAlone(t *testing.T) {
	a, _ := pair(t, 1, nil)
	a.policy = &everyTen{Policy: a.policy}
	a.caps = policy.CapabilitiesOf(a.policy)
	writeAll(t, 0, a, 5*1024)
	if got := sendAll(t, a, 0, 0, 9*ms, ms); len(got) != 1 {
		t.Fatalf("sent %v at once", got)
	}
	if a.Deadline() != 10*ms {
		t.Errorf("deadline %v, want the next packet's time", a.Deadline())
	}
	if got := sendAll(t, a, 0, 10*ms, 90*ms, ms); len(got) != 2 {
		t.Errorf("then %v, want 2 more", got)
	}
	receive(t, 100*ms, 0, a, wire.Packet{AckStarts: []uint32{1}})
	if got := sendAll(t, a, 0, 100*ms, 110*ms, ms); len(got) != 1 || got[0] != 4 {
		t.Errorf("after an acknowledgement %v, want 4", got)
	}
	now := 6 * time.Second
	a.Advance(now)
	receive(t, now, 0, a, wire.Packet{AckStarts: []uint32{3}})
	if got := sendAll(t, a, 0, now, now+5*ms, ms); len(got) != 1 || got[0] != 2 {
		t.Errorf("after the RTO %v, want 2 again", got)
	}
}

// The policy waits for acknowledgements as long as the session's peer takes for one.
func TestPolicyKnowsTheAckInterval(t *testing.T) {
	for _, interval := range []time.Duration{5 * ms, 50 * ms, 200 * ms} {
		a, _ := pair(t, 1, func(c *Config) { c.Policy, c.AckInterval = "delivery-rate", interval })
		writeAll(t, 0, a, 1024)
		sendAll(t, a, 0, 0, 0, ms)
		receive(t, 400*ms, 0, a, wire.Packet{AckCounts: []uint32{1}})
		if got, want := a.caps.Recovery.RTO(0), 1200*ms+interval; got != want {
			t.Errorf("acknowledgements each %v: RTO %v, want %v", interval, got, want)
		}
	}
}
