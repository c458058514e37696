package agent

import (
	"net/netip"
	"net/url"
	"testing"
)

// Whatever is typed, it is refused, or a transport and an address that can be written as a URI again.
func FuzzParseURI(f *testing.F) {
	for _, uri := range []string{"udp://127.0.0.1:6363", "tcp4://[::1]:1", "udp://:6363", "http://127.0.0.1:80", "udp://127.0.0.1:99999"} {
		f.Add(uri)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		if u, err := url.Parse(uri); err == nil {
			if _, err := netip.ParseAddr(u.Hostname()); err != nil {
				return // a name would be looked up
			}
		}
		transport, address, err := ParseURI(uri)
		if err != nil {
			return
		}
		again, same, err := ParseURI(transport + "://" + address.String())
		if err != nil || again != transport || same != address {
			t.Errorf("%q: %s and %v, and from these %s and %v, %v", uri, transport, address, again, same, err)
		}
	})
}
