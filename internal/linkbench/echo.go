package linkbench

import (
	"fmt"
	"net/netip"
	"os"
	"sync"
	"time"

	"golang.org/x/net/icmp"
	"golang.org/x/net/ipv4"
	"golang.org/x/sys/unix"

	"ncp-testbed/internal/netns"
	"ncp-testbed/internal/timestamping"
	"ncp-testbed/internal/timing"
)

// Echoes are round-trip times by ICMP echo, which the far end's kernel answers by itself: from the kernel's
// stamp of the request as it left for the interface to that of the reply as it arrived.
type Echoes struct {
	Sent   int       `json:"sent"`
	RTTsMS []float64 `json:"rtts_ms"` // of those that came back with a timestamp, in the order of sending
}

// EchoOptions say how to measure. Count is at most 65,536, by ICMP's sequence numbers.
type EchoOptions struct {
	From    End
	To      netip.Addr
	Count   int
	Spacing time.Duration
	Wait    time.Duration // for the last replies
}

const echoBytes = 56 // as ping's

// Echo measures round-trip times.
func Echo(o EchoOptions) (Echoes, error) {
	var fd int
	err := netns.Within(o.From.Namespace, func() (err error) {
		fd, err = unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_ICMP)
		return err
	})
	if err != nil {
		return Echoes{}, fmt.Errorf("raw ICMP socket: %w", err)
	}
	defer unix.Close(fd)
	if err := receiveTimeout(fd); err != nil {
		return Echoes{}, err
	}
	if err := timestamping.Set(fd, timestamping.Receives|timestamping.Sends); err != nil {
		return Echoes{}, err
	}
	time.Sleep(timestamping.Settling)
	id := uint16(os.Getpid())
	arrivals := make([]timing.Unix, o.Count)
	var mu sync.Mutex // guards arrivals and missing
	missing := o.Count
	stop, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		stopped <- receive(fd, stop, func(packet, control []byte, _ unix.Sockaddr) {
			sequence, ok := parseReply(packet, id)
			stamp, stamped := timestamping.FromControl(control)
			if ok && stamped && sequence < o.Count {
				mu.Lock()
				if arrivals[sequence] == 0 {
					arrivals[sequence] = stamp
					missing--
				}
				mu.Unlock()
			}
		})
	}()

	departures := map[uint32]timing.Unix{}
	to, times := sockaddr(o.To, 0), newSpacing(o.Spacing)
	for i := range o.Count {
		times.wait()
		packet, err := request(id, i)
		if err == nil {
			err = unix.Sendto(fd, packet, 0, to)
		}
		if err != nil {
			close(stop)
			<-stopped
			return Echoes{}, fmt.Errorf("echo request to %v: %w", o.To, err)
		}
		timestamping.ReadTX(fd, departures)
	}
	for deadline := time.Now().Add(o.Wait); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		mu.Lock()
		all := missing == 0
		mu.Unlock()
		if all {
			break
		}
	}
	close(stop)
	if err := <-stopped; err != nil {
		return Echoes{}, err
	}
	timestamping.ReadTX(fd, departures)
	found := Echoes{Sent: o.Count}
	for i, at := range arrivals {
		if left := departures[uint32(i)]; at != 0 && left != 0 {
			found.RTTsMS = append(found.RTTsMS, float64(at.Sub(left))/1e6)
		}
	}
	return found, nil
}

func request(id uint16, sequence int) ([]byte, error) {
	body := &icmp.Echo{ID: int(id), Seq: sequence, Data: make([]byte, echoBytes)}
	return (&icmp.Message{Type: ipv4.ICMPTypeEcho, Body: body}).Marshal(nil)
}

// parseReply reads an IPv4 packet: the sequence number, if it is a reply to one of ours.
func parseReply(packet []byte, id uint16) (sequence int, ok bool) {
	header, err := ipv4.ParseHeader(packet)
	if err != nil || header.Len > len(packet) {
		return 0, false
	}
	message, err := icmp.ParseMessage(ipv4.ICMPTypeEchoReply.Protocol(), packet[header.Len:])
	if err != nil || message.Type != ipv4.ICMPTypeEchoReply {
		return 0, false
	}
	echo, ok := message.Body.(*icmp.Echo)
	if !ok || echo.ID != int(id) {
		return 0, false
	}
	return echo.Seq, true
}
