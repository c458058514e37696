package collect

import (
	"net"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ncp-testbed/collectors/watch"
	"ncp-testbed/internal/netns"
	"ncp-testbed/internal/telemetry"
	"ncp-testbed/internal/test/testnet"
)

const connections = 1000

// connected watches both ends of many TCP connections within one host, and of as many UDP sockets.
func connected(t testing.TB) *watch.List {
	h1 := testnet.Path(testnet.New(t).Hosts["h1"])
	list := &watch.List{IntervalMS: 100, TCPIntervalMS: 100, Namespaces: map[string]string{"h1": h1}}
	add := func(protocol, role string, c net.Conn) {
		t.Cleanup(func() { c.Close() })
		list.Sockets = append(list.Sockets, watch.Socket{
			Host: "h1", Protocol: protocol, Flow: "s1", Role: role, Session: "s1",
			Local: endpoint(c.LocalAddr().String()), Remote: endpoint(c.RemoteAddr().String()),
		})
	}
	err := netns.Within(h1, func() error {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer listener.Close()
		for range connections {
			sender, err := net.Dial("tcp", listener.Addr().String())
			if err != nil {
				return err
			}
			add("tcp", "sender", sender)
			receiver, err := listener.Accept()
			if err != nil {
				return err
			}
			add("tcp", "receiver", receiver)
			udp, err := net.Dial("udp", "127.0.0.1:9")
			if err != nil {
				return err
			}
			add("udp", "sender", udp)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Each end of each connection has its point in each sample, among as many others.
func TestNoPointIsLostAmongManyConnections(t *testing.T) {
	list := connected(t)
	for _, c := range []struct {
		start func(*watch.List, tags) (sampler, time.Duration)
		want  int
	}{{newSocketQueues, 3 * connections}, {newTCPInfo, 2 * connections}} {
		s, _ := c.start(list, tags{})
		defer s.close()
		var p telemetry.Points
		for range 2 {
			if err := s.sample(time.Now(), &p); err != nil {
				t.Fatal(err)
			}
			if _, count, err := p.Take(); count != c.want || err != nil {
				t.Errorf("%d points (%v), want %d", count, err, c.want)
			}
		}
	}
}

// processTime is the CPU time of all threads: what frees memory is paid as well.
func processTime(b *testing.B) time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &now); err != nil {
		b.Fatal(err)
	}
	return time.Duration(now.Nano())
}

// BenchmarkSample is what a sample of 1,000 connections costs where one end of each is sampled: 5 ms are 5% of a core at
// ten samples a second. The dump of TCP's sockets has the other ends as well.
func BenchmarkSample(b *testing.B) {
	list := connected(b)
	for _, c := range []struct {
		name, protocol string
		start          func(*watch.List, tags) (sampler, time.Duration)
	}{{"udp", "udp", newSocketQueues}, {"tcp", "tcp", newSocketQueues}, {"tcp_info", "tcp", newTCPInfo}} {
		b.Run(c.name, func(b *testing.B) {
			own := *list
			own.Sockets = slices.DeleteFunc(slices.Clone(list.Sockets), func(s watch.Socket) bool {
				return s.Protocol != c.protocol || s.Role != "sender"
			})
			s, _ := c.start(&own, tags{"run": "20261121-035200-3f9a", "scenario": "startup"})
			defer s.close()
			spool, err := telemetry.OpenSpool(filepath.Join(b.TempDir(), "spool.lp"))
			if err != nil {
				b.Fatal(err)
			}
			defer spool.Close()
			var p telemetry.Points
			b.ReportAllocs()
			begun := processTime(b)
			for b.Loop() {
				if err := s.sample(time.Now(), &p); err != nil {
					b.Fatal(err)
				}
				if err := spool.Append(&p); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric((processTime(b)-begun).Seconds()*1e3/float64(b.N), "cpu-ms/op")
			if lost := connections*b.N - spool.Points(); lost != 0 {
				b.Errorf("%d points are lost", lost)
			}
		})
	}
}
