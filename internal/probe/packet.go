package probe

import "encoding/binary"

// Steps of a measurement; a packet tells its own.
const (
	stepHello byte = iota
	stepDelay
	stepRate
	stepLoss
	steps
)

// Bytes before the payload of a UDP packet on Ethernet, and the smallest payload of a probe.
const (
	headerBytes = 14 + 20 + 8
	packetBytes = 4 + 1 + 8
)

var magic = [4]byte{'n', 'c', 'p', 'l'}

// encode writes a packet of a step into a payload of at least packetBytes.
func encode(payload []byte, step byte, sequence uint64) {
	copy(payload, magic[:])
	payload[4] = step
	binary.BigEndian.PutUint64(payload[5:], sequence)
}

func decode(payload []byte) (step byte, sequence uint64, ok bool) {
	if len(payload) < packetBytes || [4]byte(payload) != magic || payload[4] >= steps {
		return 0, 0, false
	}
	return payload[4], binary.BigEndian.Uint64(payload[5:]), true
}
