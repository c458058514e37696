package linkbench

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ncp-testbed/internal/netns"
	"ncp-testbed/internal/timestamping"
	"ncp-testbed/internal/timing"
)

// Stream is what became of UDP packets from one end to the other.
type Stream struct {
	Sent     int      `json:"sent"`
	Received int      `json:"received"`
	Windows  []Window `json:"windows"`
}

// Window is the packets that arrived between two arrivals that are as far apart as requested, or a little more: so
// a rate is exact however few packets a window has.
type Window struct {
	Packets int     `json:"packets"`
	Seconds float64 `json:"seconds"`
}

// StreamOptions say what to send. It ends with Packets, if set, else after Duration.
type StreamOptions struct {
	From, To End
	IPBytes  int     // of a packet with its IPv4 header
	PPS      float64 // packets per second; 0: as fast as the socket takes them
	Packets  int
	Duration time.Duration
	Wait     time.Duration // for the last packets
	Window   time.Duration
	// SendBufferBytes bounds what waits in the host, as the kernel counts it.
	SendBufferBytes int
}

const (
	ipUDPBytes         = 28
	streamPort         = 29_998
	receiveBufferBytes = 32 << 20
	// settled is how long, and how many packets, a stream flows before the first window: a bucket's initial
	// burst is over then.
	settled        = 100 * time.Millisecond
	settledPackets = 8
	// paceBatch is what a paced sender sleeps at least, to send what is due by then at once.
	paceBatch = 500 * time.Microsecond
)

// Send streams and measures at the receiver, by the kernel's receive stamps.
func Send(o StreamOptions) (Stream, error) {
	from, err := udpSocket(o.From, 0)
	if err != nil {
		return Stream{}, err
	}
	defer unix.Close(from)
	to, err := udpSocket(o.To, streamPort)
	if err != nil {
		return Stream{}, err
	}
	defer unix.Close(to)
	if err := receiveTimeout(to); err != nil {
		return Stream{}, err
	}
	if err := timestamping.Set(to, timestamping.Receives); err != nil {
		return Stream{}, err
	}
	if err := unix.SetsockoptInt(to, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, receiveBufferBytes); err != nil {
		return Stream{}, fmt.Errorf("SO_RCVBUFFORCE: %w", err)
	}
	if o.SendBufferBytes > 0 {
		// The kernel doubles what it is given.
		if err := unix.SetsockoptInt(from, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, o.SendBufferBytes/2); err != nil {
			return Stream{}, fmt.Errorf("SO_SNDBUFFORCE: %w", err)
		}
	}
	if err := unix.Connect(from, sockaddr(o.To.Address, streamPort)); err != nil {
		return Stream{}, fmt.Errorf("connect to %v: %w", o.To.Address, err)
	}

	time.Sleep(timestamping.Settling)
	var mu sync.Mutex
	var arrived arrivals
	stop, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		stopped <- receive(to, stop, func(_, control []byte, _ unix.Sockaddr) {
			mu.Lock()
			arrived.add(control)
			mu.Unlock()
		})
	}()
	sent, err := sendAll(from, &o)
	if err == nil {
		for deadline := time.Now().Add(o.Wait); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
			mu.Lock()
			received := arrived.count
			mu.Unlock()
			if received >= sent {
				break
			}
		}
	}
	close(stop)
	if err = errors.Join(err, <-stopped); err != nil {
		return Stream{}, err
	}
	return Stream{Sent: sent, Received: arrived.count, Windows: windows(arrived.stamps, o.Window)}, nil
}

// arrivals are the packets that arrived: how many, and when those did that the kernel stamped.
type arrivals struct {
	count  int
	stamps []timing.Unix
}

// add counts a packet with this control data.
func (a *arrivals) add(control []byte) {
	a.count++
	if stamp, ok := timestamping.FromControl(control); ok {
		a.stamps = append(a.stamps, stamp)
	}
}

func udpSocket(e End, port int) (fd int, err error) {
	err = netns.Within(e.Namespace, func() (err error) {
		if fd, err = unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err != nil {
			return err
		}
		if err = unix.Bind(fd, sockaddr(e.Address, port)); err != nil {
			_ = unix.Close(fd)
			return fmt.Errorf("bind to %v: %w", e.Address, err)
		}
		return nil
	})
	return fd, err
}

// sendAll sends at a pace and returns how many packets.
func sendAll(fd int, o *StreamOptions) (int, error) {
	payload := make([]byte, o.IPBytes-ipUDPBytes)
	begun := time.Now()
	for sent := 0; ; {
		elapsed := time.Since(begun)
		if o.Packets > 0 && sent >= o.Packets || o.Packets == 0 && elapsed >= o.Duration {
			return sent, nil
		}
		if o.PPS > 0 {
			if due := time.Duration(float64(sent) / o.PPS * 1e9); due > elapsed {
				time.Sleep(max(due-elapsed, paceBatch))
				continue
			}
		}
		switch _, err := unix.Write(fd, payload); err {
		case nil:
			sent++
		case unix.ENOBUFS, unix.EINTR, unix.ECONNREFUSED: // the interface is behind for now
		default:
			return sent, fmt.Errorf("send to %v: %w", o.To.Address, err)
		}
	}
}

// windows divides arrivals, in order, into windows of at least the given time.
func windows(arrivals []timing.Unix, min time.Duration) []Window {
	var found []Window
	first := 0
	for first < len(arrivals) && (first < settledPackets || arrivals[first].Sub(arrivals[0]) < settled) {
		first++
	}
	for i := first + 1; i < len(arrivals); i++ {
		if took := arrivals[i].Sub(arrivals[first]); took >= min && took > 0 {
			found = append(found, Window{i - first, took.Seconds()})
			first = i
		}
	}
	return found
}
