package download

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"ncp-testbed/internal/sockets"
	"ncp-testbed/internal/timing"
)

// Client gets one object from a server.
type Client struct {
	From, Server       string // own address without a port, address:port
	Bytes              int
	ReceiveBufferBytes int // SO_RCVBUF before the connection is made; 0: the kernel's own, which it tunes
	CongestionControl  string
	Timeout            time.Duration
}

// Got is the client's result.
type Got struct {
	Role               string      `json:"role"`
	Bytes              int         `json:"bytes"`
	SHA256             string      `json:"sha256"`
	CongestionControl  string      `json:"congestion_control"`
	ReceiveBufferBytes int         `json:"receive_buffer_bytes"` // SO_RCVBUF as the kernel tells it at the end
	ConnectedMS        float64     `json:"connected_ms"`         // from the SYN
	FirstByteMS        float64     `json:"first_byte_ms"`        // from the request
	StartedUnixNS      timing.Unix `json:"started_unix_ns"`      // of the request
	FinishedUnixNS     timing.Unix `json:"finished_unix_ns"`     // the last byte read
	DurationS          float64     `json:"duration_s"`
	GoodputBPS         float64     `json:"goodput_bps"`
	Error              string      `json:"error"`
}

// Run asks for the object and reads it.
func (g Client) Run(ctx context.Context) (Got, error) {
	result := Got{Role: "receiver"}
	ctx, cancel := context.WithTimeout(ctx, g.Timeout)
	defer cancel()
	dialer := net.Dialer{
		Control: sockets.Prepare(func(fd int) error {
			if err := useCongestionControl(fd, g.CongestionControl); err != nil {
				return err
			}
			return setReceiveBuffer(fd, g.ReceiveBufferBytes)
		}),
	}
	dialer.SetMultipathTCP(false)
	if g.From != "" {
		dialer.LocalAddr = &net.TCPAddr{IP: net.ParseIP(g.From)}
	}
	object := make([]byte, g.Bytes)
	// The pages are there before the first byte comes.
	for i := 0; i < len(object); i += 4096 {
		object[i] = 1
	}
	begun := time.Now()
	dialed, err := dialer.DialContext(ctx, "tcp4", g.Server)
	if err != nil {
		return result, err
	}
	c := dialed.(*net.TCPConn)
	defer func() { _ = c.Close() }()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	result.ConnectedMS = milliseconds(time.Since(begun))
	if err := g.get(c, object, &result); err != nil {
		return result, inTime(ctx, err)
	}
	sum := sha256.Sum256(object)
	result.SHA256 = hex.EncodeToString(sum[:])
	return result, nil
}

func (g Client) get(c *net.TCPConn, object []byte, result *Got) error {
	requested := time.Now()
	result.StartedUnixNS = timing.Of(requested)
	if err := writeRequest(c, g.Bytes); err != nil {
		return err
	}
	for result.Bytes < len(object) {
		n, err := c.Read(object[result.Bytes:])
		if n > 0 && result.Bytes == 0 {
			result.FirstByteMS = milliseconds(time.Since(requested))
		}
		result.Bytes += n
		if err != nil && result.Bytes < len(object) {
			if err == io.EOF {
				return fmt.Errorf("the server ended after %d of %d B", result.Bytes, g.Bytes)
			}
			return err
		}
	}
	taken := time.Since(requested)
	result.FinishedUnixNS = timing.Of(requested.Add(taken))
	result.DurationS = taken.Seconds()
	result.GoodputBPS = float64(result.Bytes) * 8 / taken.Seconds()
	return sockets.Control(c, func(fd int) (err error) {
		if result.CongestionControl, err = congestionControl(fd); err != nil {
			return err
		}
		result.ReceiveBufferBytes, err = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
		return err
	})
}
