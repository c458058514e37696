package lp

import "time"

// Bounds of what waits for its missing fragments, per link.
const (
	reassemblyTimeout  = 500 * time.Millisecond
	maxPartial         = 64
	maxPartialBytes    = 1 << 20
	maxReassembledByte = 1<<16 - 1
)

// Decoder takes link packets and returns the packets that they make up.
type Decoder struct {
	// Dropped counts packets whose fragments did not come together.
	Dropped uint64

	partial map[uint64]*partial // by the first fragment's sequence number
	bytes   int                 // in all partial packets
}

// partial is a packet of which fragments are missing.
type partial struct {
	first  Packet // headers, of the first fragment
	parts  [][]byte
	have   int
	bytes  int
	expiry time.Duration
}

// Decode takes a link packet at a time of the link's clock. It returns a packet
// when that was its last fragment. What it returns is good as long as wire is.
// An idle packet (without anything) returns neither packet nor error.
func (d *Decoder) Decode(now time.Duration, wire []byte) (p Packet, whole bool, err error) {
	h, err := decode(wire)
	if err != nil {
		return Packet{}, false, err
	}
	if len(h.Network) == 0 {
		if h.count > 1 || h.IsNack {
			return Packet{}, false, errEmpty
		}
		return Packet{}, false, nil
	}
	if h.count == 1 {
		return h.Packet, true, nil
	}
	return d.add(now, &h)
}

func (d *Decoder) add(now time.Duration, h *header) (Packet, bool, error) {
	key := h.sequence - h.index
	m := d.partial[key]
	if m != nil && len(m.parts) != int(h.count) {
		d.drop(key) // another packet under the same number: the peer began anew
		m = nil
	}
	if m == nil {
		d.makeRoom(now, len(h.Network))
		if d.partial == nil {
			d.partial = map[uint64]*partial{}
		}
		m = &partial{parts: make([][]byte, h.count), expiry: now + reassemblyTimeout}
		d.partial[key] = m
	}
	if m.parts[h.index] != nil {
		return Packet{}, false, nil // a duplicate
	}
	m.parts[h.index] = append([]byte(nil), h.Network...)
	m.have++
	m.bytes += len(h.Network)
	d.bytes += len(h.Network)
	if h.index == 0 {
		m.first = h.Packet
	}
	if m.bytes > maxReassembledByte {
		d.drop(key)
		return Packet{}, false, nil
	}
	if m.have < len(m.parts) {
		return Packet{}, false, nil
	}
	delete(d.partial, key)
	d.bytes -= m.bytes
	p := m.first
	p.Network = make([]byte, 0, m.bytes)
	for _, part := range m.parts {
		p.Network = append(p.Network, part...)
	}
	return p, true, nil
}

// makeRoom drops what is too old, and the oldest while there is too much.
func (d *Decoder) makeRoom(now time.Duration, bytes int) {
	for key, m := range d.partial {
		if now >= m.expiry {
			d.drop(key)
		}
	}
	for len(d.partial) >= maxPartial || len(d.partial) > 0 && d.bytes+bytes > maxPartialBytes {
		var oldest uint64
		first := true
		for key, m := range d.partial {
			if first || m.expiry < d.partial[oldest].expiry || m.expiry == d.partial[oldest].expiry && key < oldest {
				oldest, first = key, false
			}
		}
		d.drop(oldest)
	}
}

func (d *Decoder) drop(key uint64) {
	d.bytes -= d.partial[key].bytes
	delete(d.partial, key)
	d.Dropped++
}
