package linkbench

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ncp-testbed/internal/netns"
	"ncp-testbed/internal/timestamping"
)

// Echoes are round-trip times by ICMP echo, which the far end's kernel answers by itself: from the kernel's
// stamp of the request as it left for the interface to that of the reply as it arrived.
type Echoes struct {
	Sent   int       `json:"sent"`
	RTTsMS []float64 `json:"rtts_ms"` // of those that came back, in the order of sending
}

// EchoOptions say how to measure. Count is at most 65,536, by ICMP's sequence numbers.
type EchoOptions struct {
	From    End
	To      netip.Addr
	Count   int
	Spacing time.Duration
	Wait    time.Duration // for the last replies
}

const (
	echoReply   = 0
	echoRequest = 8
	echoBytes   = 64 // as ping's, with the header of 8
)

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
	arrivals := make([]int64, o.Count)
	var mu sync.Mutex // guards arrivals and missing
	missing := o.Count
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		packet, control := make([]byte, 2048), make([]byte, timestamping.ControlBytes)
		for {
			select {
			case <-stop:
				return
			default:
			}
			n, controlled, _, _, err := unix.Recvmsg(fd, packet, control, 0)
			if err != nil {
				continue // nothing for a while
			}
			if sequence, ok := parseReply(packet[:n], id); ok && sequence < o.Count {
				mu.Lock()
				if arrivals[sequence] == 0 {
					arrivals[sequence] = timestamping.Of(control[:controlled])
					missing--
				}
				mu.Unlock()
			}
		}
	}()

	departures := map[uint32]int64{}
	to, times := sockaddr(o.To, 0), newSpacing(o.Spacing)
	for i := range o.Count {
		times.wait()
		if err := unix.Sendto(fd, request(id, i), 0, to); err != nil {
			close(stop)
			<-stopped
			return Echoes{}, fmt.Errorf("echo request to %v: %w", o.To, err)
		}
		timestamping.TakeSent(fd, departures)
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
	<-stopped
	timestamping.TakeSent(fd, departures)
	found := Echoes{Sent: o.Count}
	for i, at := range arrivals {
		if left := departures[uint32(i)]; at != 0 && left != 0 {
			found.RTTsMS = append(found.RTTsMS, float64(at-left)/1e6)
		}
	}
	return found, nil
}

func request(id uint16, sequence int) []byte {
	packet := make([]byte, echoBytes)
	packet[0] = echoRequest
	binary.BigEndian.PutUint16(packet[4:], id)
	binary.BigEndian.PutUint16(packet[6:], uint16(sequence))
	binary.BigEndian.PutUint16(packet[2:], checksum(packet))
	return packet
}

// parseReply reads an IPv4 packet: the sequence number, if it is a reply to one of ours.
func parseReply(packet []byte, id uint16) (sequence int, ok bool) {
	if len(packet) < 1 {
		return 0, false
	}
	header := int(packet[0]&0xf) * 4
	if len(packet) < header+8 || packet[header] != echoReply || binary.BigEndian.Uint16(packet[header+4:]) != id {
		return 0, false
	}
	return int(binary.BigEndian.Uint16(packet[header+6:])), true
}

// checksum is the Internet checksum (RFC 1071) of an even number of bytes whose checksum field is 0.
func checksum(packet []byte) uint16 {
	sum := uint32(0)
	for i := 0; i < len(packet); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(packet[i:]))
	}
	for sum>>16 != 0 {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}
