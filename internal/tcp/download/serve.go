package download

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"ncp-testbed/internal/payload"
	"ncp-testbed/internal/sockets"
	"ncp-testbed/internal/timing"
)

// Server serves one object to one client.
type Server struct {
	Listen            string // address:port
	Bytes             int    // what the client has to ask for
	Seed              uint64 // of the content
	CongestionControl string // empty: the namespace's default
	Timeout           time.Duration
}

// Served is the server's result.
type Served struct {
	Role              string      `json:"role"`
	Bytes             int         `json:"bytes"`
	SHA256            string      `json:"sha256"`
	CongestionControl string      `json:"congestion_control"`
	StartedUnixNS     timing.Unix `json:"started_unix_ns"` // when the request had been read
	FinishedUnixNS    timing.Unix `json:"finished_unix_ns"`
	WrittenMS         float64     `json:"written_ms"`      // from the request to the last write's return
	AcknowledgedMS    float64     `json:"acknowledged_ms"` // from the request to an empty send queue
	// OfferedWindowBytes is the client's window as the server knew it when it accepted: that of the handshake's ACK, or
	// of the request if that had arrived.
	OfferedWindowBytes  uint32  `json:"offered_window_bytes"`
	MinRTTMS            float64 `json:"min_rtt_ms"`
	SegmentsSent        uint32  `json:"segments_sent"` // with data, and again
	SegmentsSentAgain   uint32  `json:"segments_sent_again"`
	MaxSegmentSizeBytes uint32  `json:"max_segment_size_bytes"`
	Error               string  `json:"error"`
}

// Run serves the object once; listening is called when a client may come.
func (s Server) Run(ctx context.Context, listening func(net.Addr)) (Served, error) {
	content, sum := object(s.Bytes, s.Seed)
	result := Served{Role: "sender", Bytes: s.Bytes, SHA256: sum}
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	config := net.ListenConfig{Control: sockets.Prepare(func(fd int) error { return useCongestionControl(fd, s.CongestionControl) })}
	config.SetMultipathTCP(false)
	l, err := config.Listen(ctx, "tcp4", s.Listen)
	if err != nil {
		return result, err
	}
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	defer func() { _ = l.Close() }()
	listening(l.Addr())
	accepted, err := l.Accept()
	if err != nil {
		return result, inTime(ctx, err)
	}
	c := accepted.(*net.TCPConn)
	defer func() { _ = c.Close() }()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	if err := s.serve(ctx, c, content, &result); err != nil {
		return result, inTime(ctx, err)
	}
	return result, nil
}

func (s Server) serve(ctx context.Context, c *net.TCPConn, content []byte, result *Served) error {
	info, err := tcpInfo(c)
	if err != nil {
		return err
	}
	result.OfferedWindowBytes = info.Snd_wnd
	requested, err := readRequest(c)
	if err != nil {
		return err
	}
	if requested != s.Bytes {
		return fmt.Errorf("the client asks for %d B, this server has %d", requested, s.Bytes)
	}
	begun := time.Now()
	result.StartedUnixNS = timing.Of(begun)
	if _, err := io.Copy(c, bytes.NewReader(content)); err != nil {
		return err
	}
	result.WrittenMS = milliseconds(time.Since(begun))
	if err := awaitAcknowledged(ctx, c); err != nil {
		return err
	}
	taken := time.Since(begun)
	result.AcknowledgedMS = milliseconds(taken)
	result.FinishedUnixNS = timing.Of(begun.Add(taken))
	if info, err = tcpInfo(c); err != nil {
		return err
	}
	result.MinRTTMS = float64(info.Min_rtt) / 1000
	result.SegmentsSent, result.SegmentsSentAgain = info.Data_segs_out, info.Total_retrans
	result.MaxSegmentSizeBytes = info.Snd_mss
	return sockets.Control(c, func(fd int) (err error) {
		result.CongestionControl, err = congestionControl(fd)
		return err
	})
}

// object is that many bytes, which a seed determines, and their SHA-256.
func object(bytes int, seed uint64) ([]byte, string) {
	stream := payload.New(seed, "download", int64(bytes))
	whole := make([]byte, 0, bytes)
	for part := stream.Next(); len(part) > 0; part = stream.Next() {
		whole = append(whole, part...)
	}
	return whole, stream.SHA256()
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// inTime says that time was up, where that is why something was closed.
func inTime(ctx context.Context, err error) error {
	if errors.Is(err, net.ErrClosed) && ctx.Err() != nil {
		return fmt.Errorf("not done when it had to end: %w", ctx.Err())
	}
	return err
}
