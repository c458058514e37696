package probe

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"ncp-testbed/link/plan"
)

// port is the UDP port of the probe, at both ends.
const port = 29_999

const receiveBufferBytes = 16 << 20

// arrival is a packet with the kernel's receive timestamp, in Unix nanoseconds.
type arrival struct {
	sequence uint64
	atNS     int64
}

// endpoint is the probe's socket at one end of a link.
type endpoint struct {
	conn *net.UDPConn
	raw  syscall.RawConn

	mu       sync.Mutex
	arrivals [steps][]arrival
}

// openEndpoint binds to an end's address and interface, within its host's namespace.
func openEndpoint(end plan.End, namespace string) (*endpoint, error) {
	e := &endpoint{}
	configure := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var failed error
		err := raw.Control(func(fd uintptr) { failed = configureSocket(int(fd), end.Interface) })
		if failed != nil {
			return failed
		}
		return err
	}}
	err := within(namespace, func() error {
		conn, err := configure.ListenPacket(context.Background(), "udp4", fmt.Sprintf("%s:%d", end.Address, port))
		if err != nil {
			return err
		}
		e.conn = conn.(*net.UDPConn)
		e.raw, err = e.conn.SyscallConn()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("host %s, interface %s: %w", end.Host, end.Interface, err)
	}
	go e.receive()
	return e, nil
}

func configureSocket(fd int, device string) error {
	if err := unix.BindToDevice(fd, device); err != nil {
		return fmt.Errorf("SO_BINDTODEVICE: %w", err)
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, receiveBufferBytes); err != nil {
		return fmt.Errorf("SO_RCVBUFFORCE: %w", err)
	}
	return setStamping(fd, receiveStamps)
}

const (
	receiveStamps = unix.SOF_TIMESTAMPING_RX_SOFTWARE | unix.SOF_TIMESTAMPING_SOFTWARE
	sendStamps    = unix.SOF_TIMESTAMPING_TX_SOFTWARE | unix.SOF_TIMESTAMPING_OPT_ID | unix.SOF_TIMESTAMPING_OPT_TSONLY
)

func setStamping(fd, flags int) error {
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPING, flags); err != nil {
		return fmt.Errorf("SO_TIMESTAMPING: %w", err)
	}
	return nil
}

// stampSends has the kernel stamp what is sent from now on, or no more. The packets count from 0 anew.
func (e *endpoint) stampSends(on bool) error {
	flags := receiveStamps
	if on {
		flags |= sendStamps
	}
	var failed error
	if err := e.raw.Control(func(fd uintptr) { failed = setStamping(int(fd), flags) }); err != nil {
		return err
	}
	return failed
}

func (e *endpoint) close() { _ = e.conn.Close() }

// receive files what arrives until the socket closes.
func (e *endpoint) receive() {
	payload := make([]byte, 1<<16)
	control := make([]byte, 512)
	for {
		n, controlled, _, _, err := e.conn.ReadMsgUDPAddrPort(payload, control)
		if err != nil {
			return
		}
		step, sequence, ok := decode(payload[:n])
		if !ok {
			continue
		}
		stamp := timestamp(control[:controlled])
		if stamp == 0 {
			stamp = time.Now().UnixNano()
		}
		e.mu.Lock()
		e.arrivals[step] = append(e.arrivals[step], arrival{sequence, stamp})
		e.mu.Unlock()
	}
}

// received is what has arrived of a step so far.
func (e *endpoint) received(step byte) []arrival {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]arrival(nil), e.arrivals[step]...)
}

func (e *endpoint) receivedCount(step byte) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.arrivals[step])
}

func (e *endpoint) send(to netip.AddrPort, payload []byte, step byte, sequence uint64) error {
	encode(payload, step, sequence)
	_, err := e.conn.WriteToUDPAddrPort(payload, to)
	return err
}

// queued is how many bytes, as the kernel counts them, wait in the host for the link.
func (e *endpoint) queued() int {
	queued := 0
	_ = e.raw.Control(func(fd uintptr) { queued, _ = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ) })
	return queued
}

// sent are the kernel's timestamps of packets as they left for the interface, by their order since stampSends.
func (e *endpoint) sent() map[uint32]int64 {
	stamps := map[uint32]int64{}
	control := make([]byte, 512)
	_ = e.raw.Control(func(fd uintptr) {
		for {
			_, n, _, _, err := unix.Recvmsg(int(fd), nil, control, unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT)
			if err != nil {
				return
			}
			stamp := timestamp(control[:n])
			messages, err := unix.ParseSocketControlMessage(control[:n])
			if err != nil || stamp == 0 {
				continue
			}
			for _, m := range messages {
				if m.Header.Level == unix.SOL_IP && m.Header.Type == unix.IP_RECVERR &&
					len(m.Data) >= int(unsafe.Sizeof(unix.SockExtendedErr{})) {
					stamps[(*unix.SockExtendedErr)(unsafe.Pointer(&m.Data[0])).Data] = stamp
				}
			}
		}
	})
	return stamps
}

// timestamp is the software timestamp in a message's control data, 0 if there is none.
func timestamp(control []byte) int64 {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return 0
	}
	for _, m := range messages {
		if m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SCM_TIMESTAMPING &&
			len(m.Data) >= int(unsafe.Sizeof(unix.Timespec{})) {
			return (*unix.Timespec)(unsafe.Pointer(&m.Data[0])).Nano()
		}
	}
	return 0
}
