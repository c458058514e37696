package endpoint

import (
	"context"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ncp-testbed/internal/sockets"
	"ncp-testbed/ncp-agent/session"
	"ncp-testbed/ncp-agent/wire"

	"golang.org/x/sys/unix"
)

// tcpEndpoints returns n pairs of free loopback endpoints, of which here dials.
func tcpEndpoints(t testing.TB, n int) (here, there []Endpoint) {
	t.Helper()
	for range n {
		var addrs [2]netip.AddrPort
		for i, host := range []string{"127.0.0.1", "127.0.0.2"} {
			l, err := net.Listen("tcp", host+":0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			addrs[i] = l.Addr().(*net.TCPAddr).AddrPort()
		}
		here = append(here, Endpoint{Local: addrs[0], Remote: addrs[1], Transport: TCPDial})
		there = append(there, Endpoint{Local: addrs[1], Remote: addrs[0], Transport: TCPListen})
	}
	return here, there
}

// openTCP opens both ends of a session over n connections and establishes it.
func openTCP(t testing.TB, ctx context.Context, n, sendBufferPackets int) (a, b *Driver) {
	t.Helper()
	here, there := tcpEndpoints(t, n)
	for i := range here {
		here[i].SendBufferPackets, there[i].SendBufferPackets = sendBufferPackets, sendBufferPackets
	}
	b = open(t, ctx, config(n), there)
	a = open(t, ctx, config(n), here)
	a.Dial()
	<-a.Established()
	<-b.Established()
	return a, b
}

// streamOf waits until a connection's TCP stream is there: a session may be
// established over another one first.
func streamOf(d *Driver, connection int) *net.TCPConn {
	for {
		if s, ok := d.socketOf(d.links[connection]).(*tcpSocket); ok {
			return s.conn
		}
		time.Sleep(time.Millisecond)
	}
}

// Both directions at once over three TCP connections; the end that dials is
// opened first and waits for the one that listens. The close reaches the peer,
// and no connection counts as broken.
func TestTransferOverTCP(t *testing.T) {
	ctx := testContext(t)
	here, there := tcpEndpoints(t, 3)
	for i := range here {
		here[i].SendBufferPackets = 32
	}
	waits := make(chan error, 1000)
	opened := make(chan *Driver)
	go func() {
		a, err := Open(ctx, config(3), here, func(err error) { waits <- err })
		if err != nil {
			t.Error(err)
		}
		opened <- a
	}()
	if err := <-waits; !sockets.MissingPeer(err) {
		t.Errorf("waits for %v", err)
	}
	b := open(t, ctx, config(3), there)
	a := <-opened
	if a == nil {
		return
	}
	a.Dial()
	<-a.Established()
	for i, l := range a.links {
		if got := l.socket.(*tcpSocket).conn.LocalAddr().String(); got != here[i].Local.String() {
			t.Errorf("connection %d is from %s, want %s", i+1, got, here[i].Local)
		}
	}
	done := make(chan error, 2)
	go func() { done <- pump(ctx, a, b, 1, 20<<20) }()
	go func() { done <- pump(ctx, b, a, 2, 10<<20) }()
	for range 2 {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	var stats session.Stats
	b.Stats(&stats)
	for i, c := range stats.Connections {
		if c.Received == 0 {
			t.Errorf("connection %d carried nothing", i+1)
		}
	}
	a.Close(ctx)
	<-b.Closed()
	if _, err := b.Read(ctx, make([]byte, 1)); err != io.EOF {
		t.Errorf("after the peer's close: %v, want io.EOF", err)
	}
	b.Close(ctx)
	if broken := append(a.Broken(), b.Broken()...); len(broken) > 0 {
		t.Errorf("broken: %v", broken)
	}
}

// A connection whose reader pauses fills up and takes no more: what waits
// unsent in the kernel stays within the send buffer and the segment that was
// begun. The session goes on over the other one, and over both when the reader
// resumes by itself.
func TestTCPPushesBack(t *testing.T) {
	ctx := testContext(t)
	const packets = 64
	a, b := openTCP(t, ctx, 2, packets)
	// Small receive and send buffers, so that the pipe fills up soon.
	for _, conn := range []*net.TCPConn{streamOf(a, 1), streamOf(b, 1)} {
		conn.SetReadBuffer(64 << 10)
		conn.SetWriteBuffer(1 << 20)
	}
	if err := b.PauseReading(1, 1500*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	sent := func() uint64 {
		var stats session.Stats
		a.Stats(&stats)
		return stats.Connections[1].Sent
	}
	done := make(chan error, 1)
	go func() { done <- pump(ctx, a, b, 1, 30<<20) }()
	var before uint64
	stalled := time.Now()
	for time.Since(stalled) < 400*time.Millisecond {
		if n := sent(); n != before {
			before, stalled = n, time.Now()
		}
		time.Sleep(10 * time.Millisecond)
	}
	unsent := 0
	sockets.Control(a.links[1].socket.(*tcpSocket).conn, func(fd int) (err error) {
		unsent, err = unix.IoctlGetInt(fd, unix.SIOCOUTQNSD)
		return err
	})
	bound := packets*(wire.FrameHeaderBytes+1024+dataHeader) + 64<<10
	if unsent == 0 || unsent > bound {
		t.Errorf("%d bytes wait unsent, want 1 to %d", unsent, bound)
	}
	t.Logf("%d packets sent, %d bytes wait unsent of a buffer of %d packets", before, unsent, packets)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if sent() == before {
		t.Error("nothing was sent on the connection after its reader resumed")
	}
	a.Close(ctx)
	b.Close(ctx)
}

// A connection that is reset in mid-session is made again and carries data
// again; what it had in flight goes over the others meanwhile. Both ends tell
// of it.
func TestTCPReturns(t *testing.T) {
	ctx := testContext(t)
	a, b := openTCP(t, ctx, 2, 16)
	received := func(c int) uint64 {
		var stats session.Stats
		b.Stats(&stats)
		return stats.Connections[c].Received
	}
	done := make(chan error, 2)
	go func() { done <- pump(ctx, a, b, 1, 40<<20) }()
	go func() { done <- pump(ctx, b, a, 2, 40<<20) }()
	for round := range 3 {
		for before := received(1); received(1) < before+100; {
			time.Sleep(time.Millisecond)
		}
		if round < 2 {
			conn := streamOf(b, 1)
			conn.SetLinger(0)
			conn.Close()
			for streamOf(b, 1) == conn {
				time.Sleep(time.Millisecond)
			}
		}
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	for _, broken := range [][]string{a.Broken(), b.Broken()} {
		if len(broken) != 1 || !strings.HasPrefix(broken[0], "connection 2 broke 2 times, at last ") {
			t.Errorf("broken: %q", broken)
		}
	}
	a.Close(ctx)
	b.Close(ctx)
}

// A session that has had no connection for some time has failed.
// A peer may hear of the close over one connection and end the others before
// it comes there too: they are not made again.
func TestAPeerThatLeftIsNotDialledAgain(t *testing.T) {
	ctx := testContext(t)
	here, there := tcpEndpoints(t, 2)
	var accepted [2]atomic.Int32
	conns := make([]chan net.Conn, 2)
	for i, e := range there {
		listener, err := net.Listen("tcp", e.Local.String())
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		conns[i] = make(chan net.Conn, 9)
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				accepted[i].Add(1)
				conns[i] <- conn
			}
		}()
	}
	cfg := config(2)
	a := open(t, ctx, cfg, here)
	a.Dial()
	first, second := <-conns[0], <-conns[1]
	hello := wire.Packet{Handshake: true, ClientIDs: cfg.ClientIDs, WindowBytes: cfg.WindowBytes, MTUBytes: cfg.MTUBytes}
	if _, err := first.Write(wire.AppendFrame(nil, hello.Append(nil))); err != nil {
		t.Fatal(err)
	}
	<-a.Established()
	ended := make(chan error, 1)
	go func() { // the peer's end
		in := wire.NewFrameReader(2048)
		for {
			body, ok, err := in.Next()
			if err == nil && !ok {
				err = in.Fill(first)
			}
			var p wire.Packet
			if err == nil && ok {
				err = p.Decode(body)
			}
			if err != nil || p.Close {
				second.(*net.TCPConn).CloseWrite()
				ended <- err
				return
			}
		}
	}()
	a.Close(ctx)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if n := [2]int32{accepted[0].Load(), accepted[1].Load()}; n != [2]int32{1, 1} || len(a.Broken()) > 0 {
		t.Errorf("dialled %v times, broken: %q", n, a.Broken())
	}
}

func TestWithoutAnyConnection(t *testing.T) {
	ctx := testContext(t)
	a, b := openTCP(t, ctx, 2, 16)
	a.mu.Lock()
	a.patience = 300 * time.Millisecond
	a.mu.Unlock()
	for i, l := range b.links {
		conn := streamOf(b, i)
		l.opener.close()
		conn.SetLinger(0)
		conn.Close()
	}
	<-a.Working().Done()
	if err := context.Cause(a.Working()); !strings.HasPrefix(err.Error(), "no connection for 300ms: connection ") {
		t.Errorf("failure %v", err)
	} else if _, again := a.Read(ctx, make([]byte, 1)); again != err {
		t.Errorf("reading ends with %v, want the failure, however often it is looked at", again)
	}
	a.Close(ctx)
	b.Close(ctx)
}

// The listening end turns away whom the plan does not name, drops a peer that
// does not keep to the framing, and can be closed while it waits.
func TestUnwantedTCPPeers(t *testing.T) {
	ctx := testContext(t)
	here, there := tcpEndpoints(t, 2)
	b := open(t, ctx, config(2), there)
	dial := func(from netip.Addr) net.Conn {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: from.AsSlice()}}
		c, err := d.DialContext(ctx, "tcp", here[0].Remote.String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	stranger := dial(netip.MustParseAddr("127.0.0.77"))
	if _, err := stranger.Read(make([]byte, 1)); err == nil {
		t.Error("a stranger is served")
	}
	peer := dial(here[0].Local.Addr())
	if _, err := peer.Write([]byte{0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}); err != nil {
		t.Fatal(err)
	}
	for len(b.Broken()) == 0 {
		time.Sleep(time.Millisecond)
	}
	if got := b.Broken()[0]; got != "connection 1 broke, reading: a frame of 4294967295 bytes, want at most 2048" {
		t.Errorf("broken: %s", got)
	}
	b.Close(ctx) // must not hang on the connection that nobody made
}
