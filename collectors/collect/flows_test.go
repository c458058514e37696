package collect

import (
	"net/netip"
	"slices"
	"testing"

	"ncp-testbed/collectors/watch"
	"ncp-testbed/internal/netstat"
)

// A flow has the sockets that its endpoints match, whichever parts of these are open and of whichever socket.
func TestAFlowTakesWhatItsEndpointsMatch(t *testing.T) {
	var ends []netip.AddrPort
	for _, address := range []string{"0.0.0.0", "10.0.0.1", "10.0.0.2"} {
		for _, port := range []uint16{0, 80, 5201} {
			ends = append(ends, netip.AddrPortFrom(netip.MustParseAddr(address), port))
		}
	}
	var all flows
	var found []netstat.Socket
	for _, local := range ends {
		for _, remote := range ends {
			all.add(&flow{watched: watch.Socket{
				Local: watch.Endpoint{AddrPort: local}, Remote: watch.Endpoint{AddrPort: remote},
			}})
			found = append(found, netstat.Socket{Local: local, Remote: remote})
		}
	}
	all.add(&flow{}) // with endpoints that the list leaves out
	for i := range found {
		all.take(&found[i])
	}
	for _, f := range all.all {
		var want []*netstat.Socket
		for i := range found {
			if f.watched.Local.Matches(found[i].Local) && f.watched.Remote.Matches(found[i].Remote) {
				want = append(want, &found[i])
			}
		}
		if !slices.Equal(f.own, want) {
			t.Errorf("%v to %v: %d sockets, want %d", f.watched.Local, f.watched.Remote, len(f.own), len(want))
		}
	}
}
