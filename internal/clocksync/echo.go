// Package clocksync measures the network between two machines, and the difference of their clocks, by packets that the one
// sends and the other answers, as NTP does (RFC 5905, section 8).
//
// Nothing of it is fragmented: a packet that does not fit is an error at its sender, or is lost. One that the kernel did
// not stamp on arrival counts as lost, since the time at which a program comes to read it is no measure.
package clocksync

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"ncp-testbed/internal/sockets"
	"ncp-testbed/internal/timestamping"
	"ncp-testbed/internal/timing"
)

// A packet: magic, the key of the run, its number, when it was sent; in an answer, when it arrived and when the answer
// was sent, and how much of its CPU time the machine has been idle.
const (
	Bytes      = 4 + 8 + 8 + 8 + 8 + 8 + 8 + 8
	keyAt      = 4
	numberAt   = 12
	sentAt     = 20
	arrivedAt  = 28
	answeredAt = 36
	idleAt     = 44
	cpuAt      = 52
)

var magic = [4]byte{'n', 'c', 'p', 'e'}

// ipUDPBytes are those of a packet's headers.
const ipUDPBytes = 20 + 8

// Serve answers on a socket until the context ends; what has another key is not answered.
func Serve(ctx context.Context, listen string, key uint64) error {
	conn, err := open(listen)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	packet, control := make([]byte, 1<<16), make([]byte, timestamping.ControlBytes)
	for {
		n, controlled, _, from, err := conn.ReadMsgUDPAddrPort(packet, control)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		if answer(packet[:n], control[:controlled], key) {
			_, _ = conn.WriteToUDPAddrPort(packet[:n], from) // one that can't be sent is lost, and counts so
		}
	}
}

// answer makes of a packet its answer, and reports whether there is one.
func answer(packet, control []byte, key uint64) bool {
	arrived, stamped := timestamping.FromControl(control)
	if !stamped || len(packet) < Bytes || [4]byte(packet) != magic || binary.BigEndian.Uint64(packet[keyAt:]) != key {
		return false
	}
	idle, all := cpu()
	put(packet, arrivedAt, int64(arrived))
	put(packet, idleAt, idle)
	put(packet, cpuAt, all)
	put(packet, answeredAt, int64(timing.Now()))
	return true
}

// Sample is what one packet found. Of a lost one there is Sent alone.
type Sample struct {
	Number uint64        `json:"number"`
	Sent   timing.Unix   `json:"sent_unix_ns"`
	Lost   bool          `json:"lost"`
	RTT    time.Duration `json:"rtt_ns"`
	Offset time.Duration `json:"offset_ns"` // of the other's clock: what it is ahead of this one's
	Idle   int64         `json:"idle"`      // jiffies of all cores since it was booted
	CPU    int64         `json:"cpu"`
}

// Options of a measurement.
type Options struct {
	To       netip.AddrPort
	Key      uint64
	Packets  int // 0: until the context ends
	Interval time.Duration
	Timeout  time.Duration // after which one is lost
	MTU      int           // of the frames' payload: 0, the shortest
}

// ErrTooLarge says that a packet of that MTU does not leave this machine.
var ErrTooLarge = errors.New("packets of that size do not leave this machine in one piece")

// Measure sends packets, and calls report with each sample, in their order.
func Measure(ctx context.Context, o Options, report func(Sample)) error {
	conn, err := open(":0")
	if err != nil {
		return err
	}
	defer conn.Close()
	answers, failed := make(chan Sample, 1024), make(chan error, 1)
	go func() { failed <- receive(conn, o, answers) }()
	waiting := map[uint64]timing.Unix{}
	var order []uint64
	ready := map[uint64]Sample{}
	payload := make([]byte, max(Bytes, o.MTU-ipUDPBytes))
	ticker := time.NewTicker(o.Interval)
	defer ticker.Stop()
	flush := func() {
		for len(order) > 0 {
			s, done := ready[order[0]]
			if !done {
				if timing.Now().Sub(waiting[order[0]]) < o.Timeout {
					return
				}
				s = Sample{Number: order[0], Sent: waiting[order[0]], Lost: true}
			}
			report(s)
			delete(waiting, order[0])
			delete(ready, order[0])
			order = order[1:]
		}
	}
	for number := uint64(0); o.Packets == 0 || number < uint64(o.Packets) || len(order) > 0; {
		if o.Packets == 0 || number < uint64(o.Packets) {
			copy(payload, magic[:])
			binary.BigEndian.PutUint64(payload[keyAt:], o.Key)
			binary.BigEndian.PutUint64(payload[numberAt:], number)
			now := timing.Now()
			put(payload, sentAt, int64(now))
			waiting[number], order = now, append(order, number)
			if _, err := conn.WriteToUDPAddrPort(payload, o.To); errors.Is(err, unix.EMSGSIZE) {
				return fmt.Errorf("%w: %d bytes", ErrTooLarge, o.MTU)
			} // one that can't be sent for another reason is lost
			number++
		}
	collect:
		for {
			select {
			case <-ctx.Done():
				flush()
				return nil
			case s := <-answers:
				if _, known := waiting[s.Number]; known {
					ready[s.Number] = s
				}
				flush()
			case err := <-failed:
				return err
			case <-ticker.C:
				break collect
			}
		}
		flush()
	}
	return nil
}

// receive passes answers on until the socket can't be read from any more, and returns why.
func receive(conn *net.UDPConn, o Options, answers chan<- Sample) error {
	packet, control := make([]byte, 1<<16), make([]byte, timestamping.ControlBytes)
	for {
		n, controlled, _, _, err := conn.ReadMsgUDPAddrPort(packet, control)
		if sockets.TransientUDP(err) {
			continue
		}
		if err != nil {
			return err
		}
		back, stamped := timestamping.FromControl(control[:controlled])
		if s, ok := decode(packet[:n], o.Key, back); ok && stamped {
			select {
			case answers <- s:
			default: // nobody reads them any more
			}
		}
	}
}

// decode works out the sample of an answer that arrived at a time of this clock.
func decode(packet []byte, key uint64, back timing.Unix) (Sample, bool) {
	if len(packet) < Bytes || [4]byte(packet) != magic || binary.BigEndian.Uint64(packet[keyAt:]) != key {
		return Sample{}, false
	}
	sent, arrived := timing.Unix(get(packet, sentAt)), timing.Unix(get(packet, arrivedAt))
	answered := timing.Unix(get(packet, answeredAt))
	return Sample{
		Number: binary.BigEndian.Uint64(packet[numberAt:]), Sent: sent,
		RTT:    back.Sub(sent) - answered.Sub(arrived),
		Offset: (arrived.Sub(sent) + answered.Sub(back)) / 2,
		Idle:   get(packet, idleAt), CPU: get(packet, cpuAt),
	}, true
}

func get(packet []byte, at int) int64 { return int64(binary.BigEndian.Uint64(packet[at:])) }

func put(packet []byte, at int, value int64) { binary.BigEndian.PutUint64(packet[at:], uint64(value)) }

// open returns a socket whose packets the kernel stamps.
func open(address string) (*net.UDPConn, error) {
	configure := net.ListenConfig{Control: sockets.Prepare(func(fd int) error {
		if err := unix.SetsockoptInt(fd, unix.SOL_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_PROBE); err != nil {
			return err
		}
		return timestamping.Set(fd, timestamping.Receives)
	})}
	conn, err := configure.ListenPacket(context.Background(), "udp4", address)
	if err != nil {
		return nil, err
	}
	time.Sleep(timestamping.Settling)
	return conn.(*net.UDPConn), nil
}
