package endpoint

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"
	"time"

	"ncp-testbed/internal/sockets"
	"ncp-testbed/ncp-agent/session"
)

// endpoints returns n pairs of free loopback endpoints.
func endpoints(t testing.TB, n int) (here, there []Endpoint) {
	t.Helper()
	for range n {
		var addrs [2]netip.AddrPort
		for i, host := range []string{"127.0.0.1", "127.0.0.2"} {
			c, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.ParseIP(host)})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			addrs[i] = c.LocalAddr().(*net.UDPAddr).AddrPort()
		}
		here = append(here, Endpoint{Local: addrs[0], Remote: addrs[1], ReceiveBufferBytes: 8 << 20})
		there = append(there, Endpoint{Local: addrs[1], Remote: addrs[0], ReceiveBufferBytes: 8 << 20})
	}
	return here, there
}

func config(n int) session.Config {
	var ids []string
	for i := range n {
		ids = append(ids, fmt.Sprint(i))
	}
	return session.Default(ids...)
}

func open(t testing.TB, ctx context.Context, cfg session.Config, e []Endpoint) *Driver {
	t.Helper()
	d, err := Open(ctx, cfg, e, func(err error) { t.Log("waiting:", err) })
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// pump writes n seeded bytes at one end and checks them at the other.
func pump(ctx context.Context, from, to *Driver, seed byte, n int) error {
	wrote := make(chan error, 1)
	go func() {
		stream := io.LimitReader(rand.NewChaCha8([32]byte{seed}), int64(n))
		buf := make([]byte, 10000)
		for {
			k, err := stream.Read(buf)
			if k > 0 {
				if _, err := from.Write(ctx, buf[:k]); err != nil {
					wrote <- err
					return
				}
			}
			if err != nil {
				wrote <- from.Drain(ctx)
				return
			}
		}
	}()
	want, got := sha256.New(), sha256.New()
	io.CopyN(want, rand.NewChaCha8([32]byte{seed}), int64(n))
	buf := make([]byte, 50000)
	for read := 0; read < n; {
		k, err := to.Read(ctx, buf)
		if err != nil {
			return fmt.Errorf("after %d of %d bytes: %w", read, n, err)
		}
		got.Write(buf[:k])
		read += k
	}
	if !bytes.Equal(want.Sum(nil), got.Sum(nil)) {
		return errors.New("other bytes arrived than were sent")
	}
	return <-wrote
}

// Both directions at once, over three connections, with the accepting end
// opened after the dialling one has met a closed port.
func TestTransferOverLoopback(t *testing.T) {
	ctx := testContext(t)
	here, there := endpoints(t, 3)
	a := open(t, ctx, config(3), here)
	a.Dial()
	time.Sleep(50 * time.Millisecond) // the first handshakes meet closed ports
	b := open(t, ctx, config(3), there)
	<-a.Established()
	done := make(chan error, 2)
	go func() { done <- pump(ctx, a, b, 1, 5<<20) }()
	go func() { done <- pump(ctx, b, a, 2, 3<<20) }()
	for range 2 {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	a.Close(ctx)
	<-b.Closed()
	if _, err := b.Read(ctx, make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("after the peer's close: %v, want io.EOF", err)
	}
	if _, err := b.Write(ctx, []byte{1}); !errors.Is(err, session.ErrClosed) {
		t.Errorf("writing after the close: %v", err)
	}
	b.Close(ctx)
}

// A connection whose reader pauses carries nothing meanwhile; the session goes
// on over the other one, and over both when it resumes.
func TestPausedReading(t *testing.T) {
	ctx := testContext(t)
	here, there := endpoints(t, 2)
	a, b := open(t, ctx, config(2), here), open(t, ctx, config(2), there)
	a.Dial()
	<-a.Established()
	if err := pump(ctx, a, b, 1, 1<<20); err != nil {
		t.Fatal(err)
	}
	if err := b.PauseReading(1, time.Hour); err != nil {
		t.Fatal(err)
	}
	received := func() uint64 {
		var stats session.Stats
		b.Stats(&stats)
		return stats.Connections[1].Received
	}
	before := received()
	done := make(chan error, 1)
	go func() { done <- pump(ctx, a, b, 2, 8<<20) }()
	time.Sleep(200 * time.Millisecond)
	if n := received(); n != before {
		t.Errorf("%d packets received while paused", n-before)
	}
	b.PauseReading(1, 0) // takes its place
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if received() == before {
		t.Error("nothing received on the connection after it resumed")
	}
	if err := b.PauseReading(2, 0); err == nil {
		t.Error("paused a connection that is not there")
	}
	b.PauseReading(0, time.Hour)
	a.Close(ctx)
	b.Close(ctx) // must not hang on the paused connection
}

func TestWaitsForItsAddress(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	missing := netip.MustParseAddrPort("198.18.77.1:30001")
	waited := make(chan error, 100)
	opened := make(chan error)
	go func() {
		_, err := Open(ctx, config(1), []Endpoint{{Local: missing, Remote: netip.MustParseAddrPort("198.18.77.2:30001")}},
			func(err error) {
				select {
				case waited <- err:
				default:
				}
			})
		opened <- err
	}()
	if err := <-waited; !sockets.MissingNetwork(err) {
		t.Errorf("waits for %v", err)
	}
	stop := errors.New("stopped")
	cancel(stop)
	if err := <-opened; !errors.Is(err, stop) {
		t.Errorf("gave %v, want the reason to stop", err)
	}
}
