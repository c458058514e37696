package sim

import (
	"testing"
	"time"

	"ncp-testbed/internal/linkmodel"
	"ncp-testbed/ncp-agent/session"
)

// Connections whose links take everything share what a session has to send, as they do on a host.
func TestConnectionsTakeTurns(t *testing.T) {
	t.Parallel()
	roomy := queueKind{"back-pressure, 4096 packets", linkmodel.QueueBackPressure, 4096}
	run := transferOver(rows[1].paths, roomy, "nkp24", 8<<20)
	const both = 2048 // packets: less than what the windows have room for at first
	packets, last, row, longest := 0, -1, 0, 0
	run.Observer.Packet = func(_ time.Duration, _, end, conn int, _ []byte) {
		if packets++; end > 0 || packets > both {
			return
		}
		if row++; conn != last {
			last, row = conn, 1
		}
		longest = max(longest, row)
	}
	simulate(t, run)
	if longest > session.MaxBatch {
		t.Errorf("a connection sent %d packets in a row while the other had room, want at most %d", longest, session.MaxBatch)
	}
}

// A writer that a full queue has stopped has packets in hand, at most an eighth of its queue.
func TestStoppedConnectionHasPacketsInHand(t *testing.T) {
	t.Parallel()
	queue := queueKind{"back-pressure, 400 packets", linkmodel.QueueBackPressure, 400}
	result := simulate(t, transferOver(rows[0].paths, queue, "nkp24", 8<<20))
	most := 0
	for _, s := range result.since(0) {
		most = max(most, s.Sender.Connections[0].InFlightPackets)
	}
	onTheWay := 1024*2*50/1000 + 1024*50/1000 // packets of a round trip, and of the wait for an acknowledgement
	if least := 400 + onTheWay; most <= least || most > least+400/8 {
		t.Errorf("%d packets in flight, want more than the %d of queue and line, and at most %d more", most, least, 400/8)
	}
}
