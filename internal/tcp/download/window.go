package download

import (
	"context"
	"errors"
	"net"
	"time"

	"ncp-testbed/internal/sockets"
)

// InitialWindow is what this kernel lets a receiver offer in a new connection.
type InitialWindow struct {
	AskedBytes   int    `json:"asked_bytes"` // the receive buffer, SO_RCVBUF
	OfferedBytes uint32 `json:"offered_bytes"`
	// Limited: at most 64 KiB are offered, however large the buffer is.
	Limited bool `json:"limited"`
}

const (
	// ProbeBufferBytes is what Linux lets everybody ask for by default, and more than three segments of the loopback
	// interface: a window is a whole number of segments.
	ProbeBufferBytes = 212_992
	largestUnscaled  = 1 << 16
)

// ProbeInitialWindow makes a connection within this machine with a large receive buffer, and looks at the window of its
// handshake's ACK, scaled, as the other end's kernel has it. Kernels differ in this without differing in version.
func ProbeInitialWindow(ctx context.Context, bufferBytes int) (InitialWindow, error) {
	found := InitialWindow{AskedBytes: bufferBytes}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var config net.ListenConfig
	config.SetMultipathTCP(false)
	l, err := config.Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return found, err
	}
	defer func() { _ = l.Close() }()
	dialer := net.Dialer{Control: sockets.Prepare(func(fd int) error { return setReceiveBuffer(fd, bufferBytes) })}
	dialer.SetMultipathTCP(false)
	client, err := dialer.DialContext(ctx, "tcp4", l.Addr().String())
	if err != nil {
		return found, err
	}
	defer func() { _ = client.Close() }()
	accepted, err := l.Accept()
	if err != nil {
		return found, err
	}
	defer func() { _ = accepted.Close() }()
	info, err := tcpInfo(accepted.(*net.TCPConn))
	if err != nil {
		return found, err
	}
	found.OfferedBytes = info.Snd_wnd
	if found.OfferedBytes == 0 {
		return found, Unsupported{"this kernel does not tell a peer's window (TCP_INFO, Linux 5.4)"}
	}
	found.Limited = found.OfferedBytes <= largestUnscaled
	return found, nil
}

// IsUnsupported reports whether an error is of the kernel's making, and why.
func IsUnsupported(err error) (string, bool) {
	var u Unsupported
	if errors.As(err, &u) {
		return u.Reason, true
	}
	return "", false
}
