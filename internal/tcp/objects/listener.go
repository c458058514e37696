package objects

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"sync"

	"golang.org/x/sys/unix"

	"ncp-testbed/internal/sockets"
	"ncp-testbed/internal/timing"
)

// Connection is what the server's socket said when the connection was accepted, before it sent anything.
type Connection struct {
	AcceptedUnixNS      timing.Unix `json:"accepted_unix_ns"`
	Client              string      `json:"client"`
	CongestionControl   string      `json:"congestion_control"`
	InitialWindow       uint32      `json:"initial_window_segments"`
	MSSBytes            uint32      `json:"mss_bytes"`
	HandshakeRTTMs      float64     `json:"handshake_rtt_ms"`
	RetransmittedSYNACK uint32      `json:"retransmitted"`
}

// Listener accepts TCP connections and writes a line of JSON about each.
type Listener struct {
	net.Listener
	headerApart bool
	mu          sync.Mutex
	out         *json.Encoder
}

// Listen opens address with a congestion control of the kernel's ("" for its default) and notes each connection
// in notes. With headerApart it is for responses whose header is flushed before the body, as Handler's are then; without
// it only responses that end their connection leave without delay.
func Listen(address, congestionControl string, headerApart bool, notes io.Writer) (*Listener, error) {
	config := net.ListenConfig{Control: sockets.Prepare(func(fd int) error {
		if congestionControl == "" {
			return nil
		}
		return unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, congestionControl)
	})}
	config.SetMultipathTCP(false)
	listener, err := config.Listen(context.Background(), "tcp4", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s with congestion control %q: %w", address, congestionControl, err)
	}
	return &Listener{Listener: listener, headerApart: headerApart, out: json.NewEncoder(notes)}, nil
}

// Accept waits for a connection and notes what it starts with.
func (l *Listener) Accept() (net.Conn, error) {
	connection, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if err := l.note(connection.(*net.TCPConn)); err != nil {
		_ = connection.Close()
		return nil, fmt.Errorf("connection of %s: %w", connection.RemoteAddr(), err)
	}
	return connection, nil
}

func (l *Listener) note(connection *net.TCPConn) error {
	noted := Connection{AcceptedUnixNS: timing.Now(), Client: connection.RemoteAddr().String()}
	err := sockets.Control(connection, func(fd int) error {
		if err := l.fillSegments(fd); err != nil {
			return err
		}
		info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
		if err != nil {
			return err
		}
		noted.InitialWindow, noted.MSSBytes = info.Snd_cwnd, info.Snd_mss
		noted.HandshakeRTTMs = float64(info.Rtt) / 1000
		noted.RetransmittedSYNACK = info.Total_retrans
		noted.CongestionControl, err = unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION)
		return err
	})
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Encode(noted)
}

// fillSegments keeps what net/http writes piece by piece from leaving in pieces: a window of three is not spent on the
// ends of a buffer. Corked, the last segment leaves with the FIN; but so would a header that is to go ahead, and then it
// is Nagle's rule, by which nothing but that header is small.
func (l *Listener) fillSegments(fd int) error {
	if l.headerApart {
		return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 0)
	}
	return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_CORK, 1)
}
