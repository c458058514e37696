package main

import (
	"net"
	"testing"

	"ncp-testbed/internal/cli"
)

func TestAPortThatIsTakenHasAnExitCodeOfItsOwn(t *testing.T) {
	taken, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for listen, want := range map[string]int{
		taken.LocalAddr().String(): cli.ExitUnsupported,
		"192.0.2.1:1":              cli.ExitFailed, // an address of no machine
	} {
		if code := run([]string{"serve", "--dir", t.TempDir(), "--listen", listen, "--key", "1"}); code != want {
			t.Errorf("%s: exit code %d, want %d", listen, code, want)
		}
	}
}
