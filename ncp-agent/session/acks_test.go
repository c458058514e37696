package session

import (
	"slices"
	"testing"
	"time"

	"ncp-testbed/ncp-agent/wire"
)

// What arrived on a connection is acknowledged there, every 50 ms, once, in
// ranges; counts are left out if all are 1.
func TestAcknowledgements(t *testing.T) {
	a, b := pair(t, 2, nil)
	writeAll(t, 0, a, 6*1024)
	for _, c := range []int{0, 0, 1, 0, 1, 1} { // sequences 1, 2, 4 and 3, 5, 6
		deliver(t, 10*ms, c, a, b)
	}
	if _, ok := take(t, 49*ms, 0, b); ok {
		t.Error("acknowledged before the interval was over")
	}
	b.Advance(50 * ms)
	first, _ := take(t, 50*ms, 0, b)
	second, _ := take(t, 50*ms, 1, b)
	if !slices.Equal(first.AckStarts, []uint32{1, 4}) || !slices.Equal(first.AckCounts, []uint32{2, 1}) {
		t.Errorf("connection 0 acknowledges %v, %v", first.AckStarts, first.AckCounts)
	}
	if !slices.Equal(second.AckStarts, []uint32{3, 5}) || !slices.Equal(second.AckCounts, []uint32{1, 2}) {
		t.Errorf("connection 1 acknowledges %v, %v", second.AckStarts, second.AckCounts)
	}
	b.Advance(100 * ms)
	if p, ok := take(t, 100*ms, 0, b); ok {
		t.Errorf("acknowledged twice: %+v", p)
	}
}

func TestAcknowledgementsOfSinglesLeaveTheCountsOut(t *testing.T) {
	a, b := pair(t, 2, nil)
	writeAll(t, 0, a, 4*1024)
	for _, c := range []int{0, 1, 0, 1} {
		deliver(t, 0, c, a, b)
	}
	b.Advance(50 * ms)
	p, _ := take(t, 50*ms, 1, b)
	if !slices.Equal(p.AckStarts, []uint32{2, 4}) || len(p.AckCounts) != 0 {
		t.Errorf("acknowledges %v, counts %v", p.AckStarts, p.AckCounts)
	}
}

func TestAckRangesPerInterval(t *testing.T) {
	a, b := pair(t, 2, func(c *Config) { c.MaxAckRanges = 3 })
	writeAll(t, 0, a, 16*1024)
	for i := range 16 {
		deliver(t, 0, i%2, a, b)
	}
	var got []int
	for now := 50 * ms; now <= 200*ms; now += 50 * ms {
		b.Advance(now)
		for {
			p, ok := take(t, now, 0, b)
			if !ok {
				break
			}
			got = append(got, len(p.AckStarts))
		}
	}
	if !slices.Equal(got, []int{3, 3, 2}) {
		t.Errorf("ranges per interval %v, want 3, 3, 2", got)
	}
}

// An acknowledgement on any connection clears the packet on all, and lets each
// window grow; only the connection it came on takes the RTT.
func TestAckClearsAllConnections(t *testing.T) {
	a, _ := pair(t, 2, func(c *Config) { c.Policy = "previous" })
	writeAll(t, 0, a, 1024)
	take(t, 0, 0, a)
	now := 5*time.Second + 100*ms
	a.Advance(now)
	if _, ok := take(t, now, 1, a); !ok {
		t.Fatal("the timed-out packet was not sent again on the other connection")
	}
	ack := wire.Packet{AckStarts: []uint32{1}}
	if err := a.Receive(now+100*ms, 1, ack.Append(nil)); err != nil {
		t.Fatal(err)
	}
	var st Stats
	a.ReadStats(&st)
	if st.Unacknowledged != 0 || st.Connections[0].InFlightPackets != 0 || st.Connections[1].InFlightPackets != 0 {
		t.Errorf("still in flight: %+v", st)
	}
	if got := []float64{st.Connections[0].WindowPackets, st.Connections[1].WindowPackets}; !slices.Equal(got, []float64{8, 17}) {
		t.Errorf("windows %v, want 8 (halved, no growth) and 17", got)
	}
	if st.Connections[0].RTO != 5*time.Second || st.Connections[1].RTO >= 5*time.Second {
		t.Errorf("RTOs %v and %v: want only the second to have moved", st.Connections[0].RTO, st.Connections[1].RTO)
	}
}
