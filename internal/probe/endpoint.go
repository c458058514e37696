package probe

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ncp-testbed/internal/netns"
	"ncp-testbed/internal/plan"
	"ncp-testbed/internal/sockets"
	"ncp-testbed/internal/timestamping"
	"ncp-testbed/internal/timing"
)

// port is the UDP port of the probe, at both ends.
const port = 29_999

const receiveBufferBytes = 16 << 20

// arrival is a packet with the kernel's receive timestamp; 0: it has none, and counts, but measures no time.
type arrival struct {
	sequence uint64
	at       timing.Unix
}

// endpoint is the probe's socket at one end of a link.
type endpoint struct {
	conn *net.UDPConn

	mu       sync.Mutex
	arrivals [steps][]arrival
	failed   error // why nothing is received any more
}

// openEndpoint binds to an end's address and interface, within its host's namespace.
func openEndpoint(end plan.End, namespace string) (*endpoint, error) {
	e := &endpoint{}
	configure := net.ListenConfig{Control: sockets.Prepare(func(fd int) error { return configureSocket(fd, end.Interface) })}
	err := netns.Within(namespace, func() error {
		conn, err := configure.ListenPacket(context.Background(), "udp4", fmt.Sprintf("%s:%d", end.Address, port))
		if err != nil {
			return err
		}
		e.conn = conn.(*net.UDPConn)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("host %s, interface %s: %w", end.Host, end.Interface, err)
	}
	go e.receive()
	return e, nil
}

func configureSocket(fd int, device string) error {
	if err := unix.BindToDevice(fd, device); err != nil {
		return fmt.Errorf("SO_BINDTODEVICE: %w", err)
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, receiveBufferBytes); err != nil {
		return fmt.Errorf("SO_RCVBUFFORCE: %w", err)
	}
	return timestamping.Set(fd, timestamping.Receives)
}

// stampSends has the kernel stamp what is sent from now on, or no more. The packets count from 0 anew.
func (e *endpoint) stampSends(on bool) error {
	flags := timestamping.Receives
	if on {
		flags |= timestamping.Sends
	}
	return sockets.Control(e.conn, func(fd int) error { return timestamping.Set(fd, flags) })
}

func (e *endpoint) close() { _ = e.conn.Close() }

// receive files what arrives until the socket closes.
func (e *endpoint) receive() {
	payload := make([]byte, 1<<16)
	control := make([]byte, timestamping.ControlBytes)
	for {
		n, controlled, _, _, err := e.conn.ReadMsgUDPAddrPort(payload, control)
		if err != nil {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.failed = err
			return
		}
		e.file(payload[:n], control[:controlled])
	}
}

// file keeps a packet that is the probe's.
func (e *endpoint) file(payload, control []byte) {
	step, sequence, ok := decode(payload)
	if !ok {
		return
	}
	stamp, _ := timestamping.FromControl(control)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.arrivals[step] = append(e.arrivals[step], arrival{sequence, stamp})
}

// received is what has arrived of a step so far.
func (e *endpoint) received(step byte) ([]arrival, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.arrivals[step]), e.failed
}

func (e *endpoint) receivedCount(step byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.arrivals[step]), e.failed
}

// Batch is packets of one step that an end sends, each at its time, or as fast as the socket takes them; those that are
// to be stamped each so long after the one before.
type Batch struct {
	To              netip.AddrPort
	Step            byte
	Packets         int
	PayloadBytes    int
	Spacing         time.Duration
	SendBufferBytes int // 0: as it is
	Stamped         bool
}

// Sent is what became of a batch: how many packets left, and the kernel's timestamps of those that were to be stamped,
// by their order.
type Sent struct {
	Packets int
	Stamps  map[uint32]timing.Unix
}

// send sends a batch, and returns when nothing of it waits in the host any more; a hello need not be waited for.
func (e *endpoint) send(ctx context.Context, b Batch) (sent Sent, err error) {
	if b.SendBufferBytes > 0 {
		if err := e.conn.SetWriteBuffer(b.SendBufferBytes); err != nil {
			return sent, err
		}
	}
	if b.Stamped {
		if err := e.stampSends(true); err != nil {
			return sent, err
		}
	}
	payload := make([]byte, b.PayloadBytes)
	// Where nothing is due at a time, the clock isn't looked at: in virtual time that takes some.
	scheduled := b.Packets > 1 && !b.Stamped
	var begun time.Time
	if scheduled {
		begun = time.Now()
	}
	for i := range b.Packets {
		if ctx.Err() != nil {
			return sent, ctx.Err()
		}
		if scheduled {
			if ahead := time.Until(begun.Add(time.Duration(i) * b.Spacing)); ahead > 0 {
				if err := sleep(ctx, ahead); err != nil {
					return sent, err
				}
			}
		}
		encode(payload, b.Step, uint64(i))
		if _, err := e.conn.WriteToUDPAddrPort(payload, b.To); err != nil {
			return sent, err
		}
		sent.Packets++
		if b.Stamped { // however late one is, the next is that far from it
			if err := sleep(ctx, b.Spacing); err != nil {
				return sent, err
			}
		}
	}
	for b.Step != stepHello && e.queued() > 0 {
		if err := sleep(ctx, time.Millisecond); err != nil {
			return sent, err
		}
	}
	if b.Stamped {
		sent.Stamps = e.sent()
		return sent, e.stampSends(false)
	}
	return sent, nil
}

// queued is how many bytes, as the kernel counts them, wait in the host for the link.
func (e *endpoint) queued() int {
	queued := 0
	_ = sockets.Control(e.conn, func(fd int) (err error) {
		queued, err = unix.IoctlGetInt(fd, unix.SIOCOUTQ)
		return err
	})
	return queued
}

// sent are the kernel's timestamps of packets as they left for the interface, by their order since stampSends.
func (e *endpoint) sent() map[uint32]timing.Unix {
	sent := map[uint32]timing.Unix{}
	_ = sockets.Control(e.conn, func(fd int) error {
		timestamping.ReadTX(fd, sent)
		return nil
	})
	return sent
}
