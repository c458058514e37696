package endpoint

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// BenchmarkLoopback is the payload rate of one session over loopback
// sockets, both ends in this process.
func BenchmarkLoopback(b *testing.B) {
	for _, connections := range []int{1, 4} {
		b.Run(fmt.Sprint("udp, connections: ", connections), func(b *testing.B) {
			here, there := endpoints(b, connections)
			benchmarkLoopback(b, here, there)
		})
		b.Run(fmt.Sprint("tcp, connections: ", connections), func(b *testing.B) {
			here, there := tcpEndpoints(b, connections)
			benchmarkLoopback(b, here, there)
		})
	}
}

func benchmarkLoopback(b *testing.B, here, there []Endpoint) {
	ctx := context.Background()
	cfg := config(len(here))
	cfg.WindowBytes = 16 << 20
	cfg.AckInterval = 10 * time.Millisecond
	cfg.MaxAckRanges = 512
	to := open(b, ctx, cfg, there)
	from := open(b, ctx, cfg, here)
	from.Dial()
	<-from.Established()
	part := make([]byte, 64<<10)
	b.SetBytes(int64(len(part)))
	b.ResetTimer()
	go func() {
		for range b.N {
			from.Write(ctx, part)
		}
	}()
	buf := make([]byte, 256<<10)
	for left := b.N * len(part); left > 0; {
		n, err := to.Read(ctx, buf)
		if err != nil {
			b.Fatal(err)
		}
		left -= n
	}
	b.StopTimer()
	from.Drain(ctx)
	from.Close(ctx)
	to.Close(ctx)
}
