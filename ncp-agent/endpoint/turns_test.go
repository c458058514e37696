package endpoint

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"ncp-testbed/ncp-agent/session"
	"ncp-testbed/ncp-agent/wire"
)

// carriers notes which connection carries each data packet.
type carriers struct {
	mu   sync.Mutex
	list []int
}

func (*carriers) Refused(time.Duration, int, uint32)                          {}
func (*carriers) Received(time.Duration, int, *wire.Packet)                   {}
func (*carriers) Dropped(time.Duration, int, *wire.Packet, error)             {}
func (*carriers) Lost(time.Duration, int, uint32)                             {}
func (*carriers) Now(time.Duration, session.State, []session.ConnectionStats) {}

func (c *carriers) Sent(_ time.Duration, conn int, p *wire.Packet, _ bool) {
	if p.Sequence > 0 {
		c.mu.Lock()
		c.list = append(c.list, conn)
		c.mu.Unlock()
	}
}

// Connections whose sockets take everything share what a session has to send,
// however the machine runs their goroutines: on one core the one that runs
// first would else carry all that its window allows. A busy machine may hold
// up a goroutine whose turn it is, so that one transfer of several decides.
func TestConnectionsTakeTurns(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const most = 4 * session.MaxBatch // the other may be in a system call when its turn would come
	var longest int
	for range 5 {
		if longest = longestRow(t); longest <= most {
			return
		}
	}
	t.Errorf("a connection carried %d packets in a row while the other had room, want at most %d", longest, most)
}

// longestRow returns the most packets that one of two connections carried in a
// row at the start of a transfer.
func longestRow(t *testing.T) int {
	ctx := testContext(t)
	here, there := endpoints(t, 2)
	sent := &carriers{}
	cfg := config(2)
	cfg.Tracer = sent
	a, b := open(t, ctx, cfg, here), open(t, ctx, config(2), there)
	a.Dial()
	<-a.Established()
	if err := pump(ctx, a, b, 1, 8<<20); err != nil {
		t.Fatal(err)
	}
	a.Close(ctx)
	b.Close(ctx)
	const both = 2048 // packets: less than what the windows have room for at first
	row, longest := 0, 0
	for i, conn := range sent.list[:both] {
		if row++; i > 0 && conn != sent.list[i-1] {
			row = 1
		}
		longest = max(longest, row)
	}
	return longest
}
