package relay_test

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"ncp-testbed/internal/netns"
	"ncp-testbed/internal/plan"
	"ncp-testbed/internal/relay"
	"ncp-testbed/internal/test/testnet"
)

func descriptors(t *testing.T) int {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(open)
}

// Wherever Open fails, here for want of descriptors, it gives back what it has taken.
func TestOpenThatFailsLeavesNothing(t *testing.T) {
	n := testnet.New(t, testnet.Link{Name: "k"}, testnet.Link{Name: "l"})
	links := []plan.Link{
		{Name: "k", A: plan.End{MiddleInterface: "l1a"}, B: plan.End{MiddleInterface: "l1b"}},
		{Name: "l", A: plan.End{MiddleInterface: "l2a"}, B: plan.End{MiddleInterface: "l2b"}, WholeSegments: true},
	}
	err := netns.Within(testnet.Path(n.Fabric), func() error {
		failAtEachPlace(t, links)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func failAtEachPlace(t *testing.T, links []plan.Link) {
	warn := func(format string, arguments ...any) { t.Logf(format, arguments...) }
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Error(err)
		return
	}
	defer unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)
	before, failed := descriptors(t), 0
	for more := range 40 {
		// The lowest that are free are those after the ones that are open, of which ReadDir has had one.
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(before - 1 + more), Max: limit.Max}); err != nil {
			t.Error(err)
		}
		r, err := relay.Open(t.Context(), links, relay.Prepared{}, 0, warn)
		if restored := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); restored != nil {
			t.Error(restored)
		}
		if err != nil {
			failed++
		} else {
			r.Close()
		}
		if after := descriptors(t); after != before {
			t.Errorf("%d descriptors after Open with %d to be had (%v), %d before", after, more, err, before)
		}
		if err == nil {
			break
		}
	}
	if failed < 5 {
		t.Errorf("Open failed at %d places", failed)
	}
}
