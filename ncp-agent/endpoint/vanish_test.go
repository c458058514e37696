package endpoint

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"ncp-testbed/internal/sockets"
	"ncp-testbed/ncp-agent/session"
)

// middle forwards the datagrams of one connection between two ends, which have
// it as their peer, while it is not cut.
type middle struct{ cut atomic.Bool }

// through puts a middle between the ends of a connection.
func through(t *testing.T, here, there *Endpoint) *middle {
	t.Helper()
	m := &middle{}
	toward := func(from, to *Endpoint) *net.UDPConn {
		// It speaks for the end that it faces away from.
		c, err := net.DialUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 3)}, net.UDPAddrFromAddrPort(to.Local))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		c.SetReadBuffer(4 << 20)
		to.Remote = c.LocalAddr().(*net.UDPAddr).AddrPort()
		return c
	}
	a, b := toward(there, here), toward(here, there)
	forward := func(from, to *net.UDPConn) {
		buf := make([]byte, 1<<16)
		for {
			n, err := from.Read(buf)
			if err != nil {
				if isClosed(err) {
					return
				}
				continue
			}
			if !m.cut.Load() {
				to.Write(buf[:n])
			}
		}
	}
	go forward(a, b)
	go forward(b, a)
	return m
}

func isClosed(err error) bool { return sockets.IsAny(err, net.ErrClosed) }

// A UDP connection goes silent in mid-session, both directions busy: the
// session goes on over the other one, and uses it again when it is back.
func TestUDPVanishesAndReturns(t *testing.T) {
	ctx := testContext(t)
	here, there := endpoints(t, 2)
	cut := through(t, &here[1], &there[1])
	cfg := config(2)
	cfg.InitialRTO = 500 * time.Millisecond // so that nobody waits 5 s for what the cut swallowed
	cfg.WindowBytes = 256 << 10
	a, b := open(t, ctx, cfg, here), open(t, ctx, cfg, there)
	a.Dial()
	<-a.Established()
	stats := func(d *Driver) (s session.Stats) { d.Stats(&s); return s }
	running, stop := context.WithCancel(ctx)
	done := make(chan error, 2)
	flow := func(from, to *Driver) {
		go func() {
			for running.Err() == nil {
				if _, err := from.Write(ctx, make([]byte, 64<<10)); err != nil {
					done <- err
					return
				}
			}
			done <- from.Drain(ctx)
		}()
		go func() {
			for buf := make([]byte, 64<<10); ; {
				if _, err := to.Read(ctx, buf); err != nil {
					return
				}
			}
		}()
	}
	flow(a, b)
	flow(b, a)
	until := func(what string, ok func() bool) {
		for !ok() {
			if ctx.Err() != nil {
				t.Fatalf("in vain: %s", what)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	carried := func(d *Driver) uint64 { return stats(d).Connections[1].Received }
	until("carries data", func() bool { return carried(a) > 200 && carried(b) > 200 })
	cut.cut.Store(true)
	read := [2]uint64{stats(a).ReadBytes, stats(b).ReadBytes}
	until("goes on over the other connection", func() bool {
		return stats(a).ReadBytes > read[0]+1<<20 && stats(b).ReadBytes > read[1]+1<<20
	})
	cut.cut.Store(false)
	before := [2]uint64{carried(a), carried(b)}
	until("carries data again", func() bool { return carried(a) > before[0]+200 && carried(b) > before[1]+200 })
	stop()
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if broken := append(a.Broken(), b.Broken()...); len(broken) > 0 {
		t.Errorf("broken: %v; a silent connection is not", broken)
	}
	a.Close(ctx)
	b.Close(ctx)
}

// As many connections as a session may have, both directions at once.
func TestSixtyFourConnections(t *testing.T) {
	for name, ends := range map[string]func(testing.TB, int) (here, there []Endpoint){"udp": endpoints, "tcp": tcpEndpoints} {
		t.Run(name, func(t *testing.T) {
			ctx := testContext(t)
			here, there := ends(t, session.MaxConnections)
			b := open(t, ctx, config(len(there)), there)
			a := open(t, ctx, config(len(here)), here)
			a.Dial()
			<-a.Established()
			// Without a limit some find nothing left to carry, so on until half of them have, as long as it takes.
			for seed := byte(1); busy(b) < session.MaxConnections/2; seed += 2 {
				done := make(chan error, 2)
				go func() { done <- pump(ctx, a, b, seed, 8<<20) }()
				go func() { done <- pump(ctx, b, a, seed+1, 8<<20) }()
				for range 2 {
					if err := <-done; err != nil {
						t.Fatalf("%v, with %d connections that carried data", err, busy(b))
					}
				}
			}
			a.Close(ctx)
			b.Close(ctx)
		})
	}
}

// busy is how many connections have brought data.
func busy(d *Driver) (count int) {
	var stats session.Stats
	d.Stats(&stats)
	for _, c := range stats.Connections {
		if c.Received > 0 {
			count++
		}
	}
	return count
}
