package forwarder

import (
	"cmp"
	"slices"

	"ncp-testbed/ndn-agent/packet"
)

// maxRegistered bounds the routes that peers may register.
const maxRegistered = 1024

// route sends Interests under a prefix to a face.
type route struct {
	prefix     packet.Name
	face       int
	registered bool // by the face itself
}

// table is the forwarding table, longest prefix first. It is meant for tens of
// routes.
type table struct{ routes []route }

func (t *table) add(prefix packet.Name, face int) { t.put(route{prefix, face, false}) }

// register routes a prefix to the face that requests it.
func (t *table) register(prefix packet.Name, face int) bool {
	own := 0
	for _, r := range t.routes {
		if r.registered {
			own++
		}
	}
	if own >= maxRegistered {
		return false
	}
	if i := t.index(prefix, false); i < 0 {
		t.put(route{prefix, face, true})
	}
	return true
}

func (t *table) index(prefix packet.Name, registered bool) int {
	return slices.IndexFunc(t.routes, func(r route) bool { return r.prefix == prefix && r.registered == registered })
}

func (t *table) put(r route) {
	if i := t.index(r.prefix, r.registered); i >= 0 {
		t.routes[i] = r
		return
	}
	t.routes = append(t.routes, r)
	slices.SortStableFunc(t.routes, func(a, b route) int { return cmp.Compare(len(b.prefix), len(a.prefix)) })
}

func (t *table) unregister(prefix packet.Name, face int) {
	t.routes = slices.DeleteFunc(t.routes, func(r route) bool { return r.registered && r.face == face && r.prefix == prefix })
}

func (t *table) dropRegistered(face int) {
	t.routes = slices.DeleteFunc(t.routes, func(r route) bool { return r.registered && r.face == face })
}

// find returns the face of the longest prefix of a name that is not the one that
// the Interest came from.
func (t *table) find(name packet.Name, from int) (face int, ok bool) {
	for _, r := range t.routes {
		if r.face != from && name.HasPrefix(r.prefix) {
			return r.face, true
		}
	}
	return 0, false
}
