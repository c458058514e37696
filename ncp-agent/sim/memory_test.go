package sim

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"ncp-testbed/internal/linkmodel"
	"ncp-testbed/ncp-agent/session"
)

// A transfer of ten times the length allocates no more: all that a run needs is
// made while its windows open. What is measured is all that is ever allocated,
// so garbage counts too.
func TestLongerRunsNeedNoMoreMemory(t *testing.T) {
	for _, policy := range []string{"previous", "nkp24", "delivery-rate"} {
		short, long := allocated(t, policy, 16<<20), allocated(t, policy, 160<<20)
		t.Logf("%s: %d KiB for 16 MiB, %d KiB for 160 MiB", policy, short>>10, long>>10)
		if long > short+short/4+256<<10 {
			t.Errorf("%s: %d KiB for 160 MiB, %d KiB for a tenth of it", policy, long>>10, short>>10)
		}
	}
}

// allocated returns the bytes that a lossy run allocates.
func allocated(t *testing.T, policy string, bytes int64) uint64 {
	run := transferOver([]path{{4096, 20, .001}, {1024, 80, 0}}, dropTail, policy, bytes)
	run.Until = time.Hour
	data := make([]byte, 1<<10) // zeros take no storage
	run.Transfers[0].Source = func() []byte { return data }
	run.Observer.Sample = func(time.Duration, int, *session.Stats, *session.Stats) {}
	run.Links[0].AB.Queue = linkmodel.Queue{Mode: linkmodel.QueueBackPressure, Packets: 100}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if !simulate(t, run).Done() {
		t.Fatalf("%s: not done", policy)
	}
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Sessions that follow each other use each other's storage: all of them need
// no more than one does.
func TestSessionsInTurnShareStorage(t *testing.T) {
	one, four := buffersOfSessionsInTurn(t, 1), buffersOfSessionsInTurn(t, 4)
	if one < 1000 || four > one+one/10 {
		t.Errorf("storage for %d packets with four sessions in turn, for %d with one", four, one)
	}
}

func buffersOfSessionsInTurn(t *testing.T, sessions int) int {
	run := transferOver([]path{{4096, 20, 0}, {1024, 200, 0}}, dropTail, "nkp24", 16<<20)
	for i := range run.Links {
		run.Links[i].AB.Queue = linkmodel.Queue{Mode: linkmodel.QueueBackPressure, Packets: 100}
	}
	data := make([]byte, 1<<10)
	run.Transfers[0].Source = func() []byte { return data }
	for i := 1; i < sessions; i++ {
		next := run.Transfers[0]
		next.Name, next.Start = fmt.Sprint("s", i), time.Duration(i)*20*time.Second
		run.Transfers = append(run.Transfers, next)
	}
	run.SampleInterval = time.Second
	w, err := newWorld(&run)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.simulate(); err != nil {
		t.Fatal(err)
	}
	if !w.result().Done() {
		t.Fatal("not done")
	}
	return w.parts[0].buffersOf(run.Transfers[0].Sender.MTUBytes, false).Free()
}
