package collect

import (
	"net"
	"net/netip"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ncp-testbed/collectors/watch"
	"ncp-testbed/internal/netns"
	"ncp-testbed/internal/netstat"
	descriptor "ncp-testbed/internal/sockets"
	"ncp-testbed/internal/test/testnet"
)

// control calls f with a connection's descriptor.
func control(t *testing.T, c syscall.Conn, f func(fd int) error) {
	t.Helper()
	if err := descriptor.Control(c, f); err != nil {
		t.Fatal(err)
	}
}

// queued is what a socket itself says is in its send queue.
func queued(t *testing.T, c syscall.Conn) (bytes int) {
	control(t, c, func(fd int) (err error) {
		bytes, err = unix.IoctlGetInt(fd, unix.SIOCOUTQ)
		return err
	})
	return bytes
}

func endpoint(address string) watch.Endpoint {
	return watch.Endpoint{AddrPort: netip.MustParseAddrPort(address)}
}

// Two TCP flows of which nobody reads, one by a congestion control of its own, and a UDP socket on a slow link:
// the collectors tell what the sockets themselves do.
func TestSockets(t *testing.T) {
	n := testnet.New(t, testnet.Link{Name: "slow", RateBPS: 16000})
	h1 := testnet.Path(n.Hosts["h1"])
	var tcp *net.TCPConn
	var udp *net.UDPConn
	err := netns.Within(h1, func() error {
		listener, err := net.Listen("tcp", "127.0.0.1:5201")
		if err != nil {
			return err
		}
		t.Cleanup(func() { listener.Close() })
		for range 2 {
			c, err := net.Dial("tcp", "127.0.0.1:5201")
			if err != nil {
				return err
			}
			t.Cleanup(func() { c.Close() })
			tcp = c.(*net.TCPConn)
		}
		c, err := net.Dial("udp", testnet.Address(1, 2)+":30001")
		if err == nil {
			udp = c.(*net.UDPConn)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	control(t, tcp, func(fd int) error {
		return unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, "reno")
	})
	tcp.SetWriteDeadline(time.Now().Add(200 * time.Millisecond))
	tcp.Write(make([]byte, 64<<20)) // more than the two sockets take
	for range 30 {
		if _, err := udp.Write(make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
	}
	own := endpoint(tcp.LocalAddr().String())
	list := &watch.List{
		IntervalMS: 50, TCPIntervalMS: 50, Namespaces: map[string]string{"h1": h1},
		Sockets: []watch.Socket{
			{Host: "h1", Protocol: "tcp", Flow: "all", Role: "receiver", Local: endpoint("0.0.0.0:5201")},
			{Host: "h1", Protocol: "tcp", Flow: "s1-1", Role: "sender", Session: "s1", Connection: "1", Local: own},
			{Host: "h1", Protocol: "udp", Flow: "s1-2", Role: "sender", Remote: endpoint(testnet.Address(1, 2) + ":30001")},
		},
	}
	before := queued(t, udp)
	directory, results := collectFor(t, list, func() { time.Sleep(300 * time.Millisecond) })
	after := queued(t, udp)
	if len(results) != 3 || results[1].Errors+results[2].Errors > 0 {
		t.Fatalf("results %+v", results)
	}

	queues := readSpool(t, filepath.Join(directory, "sockets.lp"))
	sender := last(t, queues, "socket_queue", map[string]string{"flow": "s1-1", "connection": "1", "protocol": "tcp", "socket": "1"})
	if got := int(sender.number(t, "send_queue_bytes")); got != queued(t, tcp) || got == 0 {
		t.Errorf("TCP: %d bytes in the queue, the socket says %d", got, queued(t, tcp))
	}
	held := int(last(t, queues, "socket_queue", map[string]string{"flow": "s1-2", "protocol": "udp"}).number(t, "send_queue_bytes"))
	if held > before || held < after || held == 0 {
		t.Errorf("UDP: %d bytes in the queue, the socket said %d before and %d after", held, before, after)
	}
	for _, socket := range []string{"1", "2"} { // the flow that takes any port has both
		last(t, queues, "socket_queue", map[string]string{"flow": "all", "role": "receiver", "socket": socket})
	}

	info := readSpool(t, filepath.Join(directory, "tcp_info.lp"))
	p := last(t, info, "tcp_info", map[string]string{"flow": "s1-1", "role": "sender", "congestion_control": "reno", "host": "h1"})
	control(t, tcp, func(fd int) error {
		want, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
		if err != nil {
			return err
		}
		for field, value := range map[string]float64{
			"cwnd_packets": float64(want.Snd_cwnd), "mss_bytes": float64(want.Snd_mss), "rtt_ms": float64(want.Rtt) / 1000,
			"acked_bytes": float64(want.Bytes_acked), "receive_space_bytes": float64(want.Rcv_space),
			"rto_ms": float64(want.Rto) / 1000,
		} {
			if got := p.number(t, field); got != value || value == 0 {
				t.Errorf("%s %v, the socket says %v", field, got, value)
			}
		}
		return nil
	})
	if _, ok := p.tags["protocol"]; ok {
		t.Errorf("%v", p)
	}
}

func TestSocketsOfAFlowKeepTheirNumbers(t *testing.T) {
	sockets := func(cookies ...uint64) (list []*netstat.Socket) {
		for _, c := range cookies {
			list = append(list, &netstat.Socket{Cookie: c})
		}
		return list
	}
	var s slots
	for _, c := range []struct {
		cookies []uint64
		want    []int
	}{
		{[]uint64{11, 12}, []int{1, 2}},
		{[]uint64{12, 11}, []int{2, 1}},
		{[]uint64{12, 13}, []int{2, 1}},
		{[]uint64{13, 14, 12}, []int{1, 3, 2}},
		{[]uint64{1, 2, 3, 4, 5, 6, 7, 8, 9}, []int{1, 2, 3, 4, 5, 6, 7, 8, 0}},
	} {
		own := sockets(c.cookies...)
		s.keep(own)
		for i, socket := range own {
			if got := s.number(socket.Cookie); got != c.want[i] {
				t.Errorf("%v: %d. is %d, want %d", c.cookies, i+1, got, c.want[i])
			}
		}
	}
}
