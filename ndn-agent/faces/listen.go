package faces

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"ncp-testbed/internal/sockets"
)

const (
	// maxAccepted bounds the faces that peers make by coming.
	maxAccepted = 64
	// idleTime is after which a UDP peer's face goes.
	idleTime = 10 * time.Minute
)

// Listen takes peers at an address: each gets a face of its own, made like c
// but for name and addresses. It returns the address that it listens on.
func (e *Engine) Listen(c FaceConfig) (netip.AddrPort, error) {
	if c.Transport == UDP {
		return e.listenUDP(c)
	}
	tcp, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(c.Local))
	if err != nil {
		return netip.AddrPort{}, err
	}
	context.AfterFunc(e.ctx, func() { tcp.Close() })
	e.ended.Go(func() { e.acceptTCP(tcp, c) })
	return tcp.Addr().(*net.TCPAddr).AddrPort(), nil
}

// acceptFace makes a peer's face; nil when there are too many.
func (e *Engine) acceptFace(c FaceConfig, local, remote netip.AddrPort) *Face {
	e.mu.Lock()
	if e.accepted >= maxAccepted || e.ctx.Err() != nil {
		e.mu.Unlock()
		return nil
	}
	e.accepted++
	e.named++
	c.Name = fmt.Sprintf("accepted-%d", e.named)
	e.mu.Unlock()
	c.Local, c.Remote = local, remote
	return e.addFace(c)
}

// dismissFace forgets a peer's face.
func (e *Engine) dismissFace(f *Face) {
	e.removeFace(f)
	e.mu.Lock()
	e.accepted--
	e.mu.Unlock()
}

// acceptTCP serves each connection until it ends.
func (e *Engine) acceptTCP(tcp *net.TCPListener, c FaceConfig) {
	for {
		conn, err := sockets.Accept(tcp, netip.Addr{})
		if err != nil {
			return
		}
		f := e.acceptFace(c, c.Local, conn.RemoteAddr().(*net.TCPAddr).AddrPort())
		if f == nil {
			conn.Close()
			continue
		}
		e.ended.Go(func() {
			defer e.dismissFace(f)
			if t, err := newTCP(e, conn, &c); err == nil {
				f.up(t)
				f.serveTCP(e.ctx, t)
			}
		})
	}
}

// listenUDP takes datagrams of new peers. A peer gets a socket that is
// connected to it, on the same address: the kernel gives that one all that the
// peer sends from then on, and the queue of each is the peer's alone.
func (e *Engine) listenUDP(c FaceConfig) (netip.AddrPort, error) {
	config := net.ListenConfig{Control: sockets.Prepare(sockets.ReuseAddress)}
	packets, err := config.ListenPacket(e.ctx, "udp", c.Local.String())
	if err != nil {
		return netip.AddrPort{}, err
	}
	conn := packets.(*net.UDPConn)
	context.AfterFunc(e.ctx, func() { conn.Close() })
	local := conn.LocalAddr().(*net.UDPAddr).AddrPort()
	e.ended.Go(func() { e.acceptUDP(conn, c, local) })
	return local, nil
}

func (e *Engine) acceptUDP(conn *net.UDPConn, c FaceConfig, local netip.AddrPort) {
	peers := map[netip.AddrPort]*Face{}
	buffer := make([]byte, maxDatagram)
	for {
		n, remote, err := conn.ReadFromUDPAddrPort(buffer)
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case sockets.TransientUDP(err): // an ICMP message about an earlier packet
			continue
		case err != nil:
			e.fail(err)
			return
		}
		f := peers[remote]
		if f == nil || f.isGone() {
			for peer, old := range peers {
				if old.isGone() {
					delete(peers, peer)
				}
			}
			if f = e.acceptPeer(c, local, remote); f == nil {
				continue
			}
			peers[remote] = f
		}
		// What came before the peer's own socket was there.
		e.Do(func(now time.Duration) {
			if !f.gone {
				f.receive(now, buffer[:n])
			}
		})
	}
}

func (f *Face) isGone() bool {
	f.engine.mu.Lock()
	defer f.engine.mu.Unlock()
	return f.gone
}

// acceptPeer makes a UDP peer's face and serves it until it is idle.
func (e *Engine) acceptPeer(c FaceConfig, local, remote netip.AddrPort) *Face {
	conn, err := dialUDP(e.ctx, local, netip.AddrPortFrom(remote.Addr().Unmap(), remote.Port()))
	if err != nil {
		return nil
	}
	f := e.acceptFace(c, local, remote)
	if f == nil {
		conn.Close()
		return nil
	}
	t, err := newUDP(conn, c.SendBufferBytes)
	if err != nil {
		e.dismissFace(f)
		return nil
	}
	f.up(t)
	ctx, cancel := context.WithCancel(e.ctx)
	context.AfterFunc(ctx, t.close)
	e.ended.Go(func() {
		defer e.dismissFace(f)
		defer cancel()
		f.readUDP(t)
		f.down(t)
	})
	e.ended.Go(func() { f.watchIdle(ctx, cancel) })
	return f
}

// watchIdle ends a face that nothing came from for long.
func (f *Face) watchIdle(ctx context.Context, end func()) {
	ticker := time.NewTicker(idleTime / 10)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			idle := false
			f.engine.Do(func(now time.Duration) { idle = now-f.lastSeen > idleTime })
			if idle {
				end()
				return
			}
		}
	}
}
