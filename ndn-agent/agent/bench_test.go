package agent

import (
	"context"
	"io"
	"net/netip"
	"testing"
	"time"

	"ncp-testbed/internal/payload"
	"ncp-testbed/ndn-agent/faces"
	"ncp-testbed/ndn-agent/fetch"
	"ncp-testbed/ndn-agent/forwarder"
	"ncp-testbed/ndn-agent/lp"
	"ncp-testbed/ndn-agent/marking"
	"ncp-testbed/ndn-agent/packet"
	"ncp-testbed/ndn-agent/produce"
)

var benchName = func() packet.Name {
	name, err := packet.ParseName("/ncp-testbed/file")
	if err != nil {
		panic(err)
	}
	return name
}()

const benchBytes = 100 << 20

// BenchmarkChain fetches 100 MiB through a forwarder over loopback, all three
// nodes in this process. Over UDP the window is bounded to what the sockets'
// buffers hold, so that nothing is lost.
func BenchmarkChain(b *testing.B) {
	for _, transport := range []string{faces.UDP, faces.TCP} {
		b.Run(transport, func(b *testing.B) {
			anywhere := netip.MustParseAddrPort("127.0.0.1:0")
			mark, err := marking.Default(marking.Hackathon)
			if err != nil {
				b.Fatal(err)
			}
			producing := faces.New(context.Background(), nil)
			defer producing.Close()
			server := &server{}
			server.producer, err = produce.New(benchName, payload.New(1, "bench", benchBytes).Reader(), benchBytes, produce.DefaultSegmentBytes,
				time.Second, func(out lp.Packet) { producing.Send(server.face, out) })
			if err != nil {
				b.Fatal(err)
			}
			producing.Start(server)
			origin, err := producing.Listen(faces.FaceConfig{Transport: transport, Local: anywhere})
			if err != nil {
				b.Fatal(err)
			}
			forwarding := faces.New(context.Background(), nil)
			defer forwarding.Close()
			router := newRouter(forwarding, forwarder.Config{}, mark)
			router.AddRoute("", 0)
			forwarding.Start(router)
			if err := forwarding.Open([]faces.FaceConfig{{Name: "up", Transport: transport, Remote: origin, Marking: mark}})(); err != nil {
				b.Fatal(err)
			}
			hop, err := forwarding.Listen(faces.FaceConfig{Transport: transport, Local: anywhere, Marking: mark})
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(benchBytes)
			b.ResetTimer()
			for range b.N {
				benchFetch(b, transport, hop)
			}
		})
	}
}

func benchFetch(b *testing.B, transport string, hop netip.AddrPort) {
	e := faces.New(context.Background(), nil)
	defer e.Close()
	c := fetch.Default(benchName)
	if transport == faces.UDP {
		c.InitialCwnd, c.AIMDStep = 16, 0.001
	}
	n := newConsumer(e, c, io.Discard, nil)
	e.Start(n)
	if err := e.Open([]faces.FaceConfig{{Name: "hop", Transport: transport, Remote: hop}})(); err != nil {
		b.Fatal(err)
	}
	e.Do(n.start)
	if err := await(context.Background(), e, n); err != nil {
		b.Fatal(err)
	}
	s := n.fetcher.Stats()
	b.ReportMetric(float64(s.Retransmissions), "retransmissions")
	b.ReportMetric(float64(s.Marks), "marks")
}
