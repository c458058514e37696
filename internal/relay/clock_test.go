package relay

import (
	"encoding/binary"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"ncp-testbed/internal/netns"
	"ncp-testbed/internal/plan"
	"ncp-testbed/internal/test/testnet"
	"ncp-testbed/internal/timestamping"
	"ncp-testbed/internal/timing"
)

const (
	unixBase = timing.Unix(1_700_000_000_000_000_000) // at model time 0
	heldUp   = 4500 * time.Microsecond
)

// heldUpClock is a clock whose thread is held up after times were taken; truth is the model time at which it is.
type heldUpClock struct {
	clock
	truth time.Duration
}

// newHeldUpClock asks after each time that is taken for how long the thread is held up.
func newHeldUpClock(holdUp func() time.Duration) *heldUpClock {
	c := &heldUpClock{}
	taken := func() time.Duration {
		at := c.truth
		c.truth += holdUp()
		return at
	}
	c.monotonic = taken
	c.wall = func() timing.Unix { return unixBase.Add(taken()) }
	c.measure()
	return c
}

func durations(from, to time.Duration) *rapid.Generator[time.Duration] {
	return rapid.Map(rapid.Int64Range(int64(from), int64(to)), func(ns int64) time.Duration { return time.Duration(ns) })
}

// However the thread is held up between taking times and reading frames, no frame counts as arrived before it
// came, which would let it leave early; and none counts as arrived later than the readings are wide, which would
// hide that it leaves late.
func TestArrivalIsNeverEarly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		every := rapid.IntRange(4, 40).Draw(t, "calls from hold-up to hold-up")
		calls := rapid.IntRange(0, every).Draw(t, "calls before the first")
		c := newHeldUpClock(func() time.Duration {
			if calls++; calls%every == 0 {
				return heldUp
			}
			return 40
		})
		c.truth = durations(2*time.Second, 3*time.Second).Draw(t, "begin")
		at := c.read()
		for range 20 {
			if rapid.Bool().Draw(t, "held up before the frame") {
				c.truth += durations(0, heldUp).Draw(t, "for")
			}
			came := c.truth - durations(0, 10*time.Millisecond).Draw(t, "age")
			arrival := c.arrival(unixBase.Add(came), &at)
			if arrival < came {
				t.Fatalf("a frame that came at %v counts as arrived at %v, %v early", came, arrival, came-arrival)
			}
			if late := arrival - came; late > 2*c.narrowest+readingSlack {
				t.Fatalf("a frame that came at %v counts as arrived at %v, %v late", came, arrival, late)
			}
		}
	})
}

// A clock that was set back or forth between stamp and reading sends no frame to the future or far into the past.
func TestArrivalAfterTheClockWasSet(t *testing.T) {
	for name, test := range map[string]struct{ stamp, least, most time.Duration }{
		"set back":  {60e9, 10e9, 10e9 + 1000},
		"set forth": {-60e9, 9e9, 9e9 + 1000},
	} {
		c := newHeldUpClock(func() time.Duration { return 40 })
		c.truth = 10e9
		at := c.read()
		if got := c.arrival(unixBase.Add(c.truth+test.stamp), &at); got < test.least || got > test.most {
			t.Errorf("%s: arrival %v, want %v to %v", name, got, test.least, test.most)
		}
	}
}

// The relay is held up, again and again, right after it has read the clock: frames that come meanwhile must not
// leave before their delay is over, by the kernel's stamps at both ends, and their lateness must show.
func TestHeldUpRelaySendsNothingEarly(t *testing.T) {
	const (
		delay   = 10 * time.Millisecond
		packets = 200 // a socket has room for so many
	)
	n := testnet.New(t, testnet.Link{Name: "k", Plan: map[string]any{"delay_ms": float64(delay.Milliseconds())}})
	p, err := plan.Read(n.Plan)
	if err != nil {
		t.Fatal(err)
	}
	var r *Relay
	within(t, n.Fabric, func() (err error) {
		r, err = Open(t.Context(), p.Links, Prepared{}, 0, t.Logf)
		return err
	})
	punctual := r.loop.clock
	calls := 0
	r.loop.clock.monotonic = func() time.Duration {
		at := punctual.monotonic()
		if calls++; calls%50 == 0 {
			time.Sleep(heldUp)
		}
		return at
	}
	ended, ready := make(chan error, 1), make(chan bool)
	go func() { ended <- r.Run(func() { close(ready) }) }()
	<-ready
	from, to := endOf(t, n, 1), endOf(t, n, 2)
	defer unix.Close(from)
	defer unix.Close(to)
	time.Sleep(timestamping.Settling)
	address := &unix.SockaddrInet4{Port: 9, Addr: netip.MustParseAddr(p.Links[0].B.Address).As4()}
	sent := make([]timing.Unix, packets)
	for i := range packets {
		payload := make([]byte, 100)
		binary.BigEndian.PutUint32(payload, uint32(i))
		sent[i] = timing.Now()
		if err := unix.Sendto(from, payload, 0, address); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
	time.Sleep(5 * delay)
	got := 0
	packet, control := make([]byte, 200), make([]byte, timestamping.ControlBytes)
	for ; ; got++ {
		_, c, _, _, err := unix.Recvmsg(to, packet, control, unix.MSG_DONTWAIT)
		if err != nil {
			break
		}
		i := binary.BigEndian.Uint32(packet)
		arrived, ok := timestamping.FromControl(control[:c])
		if took := arrived.Sub(sent[i]); ok && took < delay {
			t.Errorf("packet %d took %v, want at least %v", i, took, delay)
		}
	}
	r.Stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if got != packets {
		t.Errorf("%d packets of %d arrived", got, packets)
	}
	if late := r.loop.directions[0].lateness.max; late < heldUp/2 {
		t.Errorf("lateness of at most %v is told of a relay that was held up for %v",
			late, heldUp)
	}
	r.Close()
}

// endOf is a UDP socket of a host, bound on its end of the first link, that has the kernel stamp what comes.
func endOf(t *testing.T, n *testnet.Net, host int) (fd int) {
	t.Helper()
	name := map[int]string{1: "h1", 2: "h2"}[host]
	err := netns.Within(testnet.Path(n.Hosts[name]), func() (err error) {
		if fd, err = unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err != nil {
			return err
		}
		if err := unix.Bind(fd, &unix.SockaddrInet4{Port: 9}); err != nil {
			return err
		}
		return timestamping.Set(fd, timestamping.Receives)
	})
	if err != nil {
		t.Fatal(err)
	}
	return fd
}
