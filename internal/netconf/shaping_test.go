package netconf

import (
	"math"
	"net"
	"strings"
	"testing"

	"ncp-testbed/internal/netns"
	"ncp-testbed/internal/test/testnet"
)

// Rates that 32 bits of bytes per second don't hold are neither wrapped nor cut off, at first and in place.
func TestRatesOf64Bits(t *testing.T) {
	n := testnet.New(t, testnet.Link{Name: "k"})
	s := &Shaping{RateBPS: 40e9, BurstBytes: 1 << 20, Quantum: 1500, LimitBytes: 1 << 20}
	for _, c := range []struct {
		rate uint64
		want string
	}{{40e9, "rate 40Gbit ceil 40Gbit"}, {100e9, "rate 100Gbit ceil 100Gbit"}, {8790016, "rate 8790Kbit ceil 8790Kbit"}} {
		err := netns.Within(testnet.Path(n.Fabric), func() error {
			found, err := net.InterfaceByName("l1a")
			if err != nil {
				return err
			}
			if c.rate == s.RateBPS {
				return s.add(found.Index)
			}
			s.RateBPS = c.rate
			return s.change(found.Index)
		})
		if err != nil {
			t.Fatal(err)
		}
		if shown := n.In(t, n.Fabric, "tc", "class", "show", "dev", "l1a"); !strings.Contains(shown, c.want) {
			t.Errorf("%q, want %s", shown, c.want)
		}
	}
}

// A bucket that takes longer to fill than the kernel can say has the longest time, and not what is left of it beyond.
func TestABucketsTimeIsNotWrapped(t *testing.T) {
	s := &Shaping{RateBPS: 1000, BurstBytes: 1 << 20}
	if ticks := s.class(1).Attribute.Htb.Parms.Buffer; ticks != math.MaxUint32 {
		t.Errorf("%d ticks, want %d", ticks, uint32(math.MaxUint32))
	}
}
