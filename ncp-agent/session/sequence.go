package session

import "ncp-testbed/ncp-agent/wire"

// A position counts a direction's packets from 0 and never wraps; on the wire
// it is a sequence number from wire.MinSequence to 2³²−1, after which
// wire.MinSequence follows again.

const sequences = 1<<32 - wire.MinSequence // how many there are

func sequenceOf(position uint64) uint32 {
	return uint32(position%sequences) + wire.MinSequence
}

// ahead returns how far a sequence number lies ahead of a position, modulo the
// number of sequences. The sequence must not be 0.
func ahead(position uint64, sequence uint32) uint64 {
	return (uint64(sequence) - wire.MinSequence + sequences - position%sequences) % sequences
}

// positionNear returns the position that a sequence number means, which is the
// one within half the sequence space of position near. It is not ok for 0,
// and for what would lie before the first packet.
func positionNear(near uint64, sequence uint32) (position uint64, ok bool) {
	if sequence < wire.MinSequence {
		return 0, false
	}
	d := ahead(near, sequence)
	if d < sequences/2 {
		return near + d, true
	}
	if behind := sequences - d; behind <= near {
		return near - behind, true
	}
	return 0, false
}
