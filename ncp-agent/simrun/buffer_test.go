package simrun

import (
	"net"
	"testing"

	"golang.org/x/sys/unix"

	"ncp-testbed/internal/sockets"
	"ncp-testbed/ncp-agent/config"
)

// A paused reader holds in the simulator what an agent's socket holds.
func TestReceiveBufferIsThatOfAnAgentsSocket(t *testing.T) {
	conn, err := net.ListenUDP("udp4", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	err = sockets.Control(conn, func(fd int) error {
		granted, err := sockets.SetBuffer(fd, unix.SO_RCVBUFFORCE, unix.SO_RCVBUF, config.ReceiveBufferBytes)
		if err == nil && granted < config.ReceiveBufferBytes {
			t.Skip("needs root, as net.core.rmem_max is smaller")
		}
		if held := granted / 2304; err == nil && held != receiveBufferPackets {
			t.Errorf("the simulator holds %d packets, a socket of %d bytes %d", receiveBufferPackets, granted, held)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
