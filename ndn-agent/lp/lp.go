// Package lp is NDNLPv2, the link protocol between two NDN nodes
// (https://redmine.named-data.net/projects/nfd/wiki/NDNLPv2): fragmentation,
// congestion marks, Nacks and PIT tokens. Reliability is not spoken.
package lp

import (
	"encoding/binary"
	"errors"
	"fmt"

	"ncp-testbed/ndn-agent/packet"
	"ncp-testbed/ndn-agent/tlv"
)

// Types of the link protocol.
const (
	typePacket         = 0x64
	typeFragment       = 0x50
	typeSequence       = 0x51
	typeFragIndex      = 0x52
	typeFragCount      = 0x53
	typePitToken       = 0x62
	typeNack           = 0x0320
	typeNackReason     = 0x0321
	typeCongestionMark = 0x0340
)

const (
	sequenceBytes    = 8
	maxPitTokenBytes = 32
	// MaxFragments is of one packet.
	MaxFragments = 64
)

// Reasons of a Nack.
const (
	NackNone       = 0
	NackCongestion = 50
	NackDuplicate  = 100
	NackNoRoute    = 150
)

// Packet is a network packet with what the link protocol says about it.
type Packet struct {
	Network  []byte // Interest or Data
	Mark     uint64 // congestion mark; 0: none
	PitToken string // of an Interest, and given back with what answers it
	IsNack   bool   // Network is an Interest that is refused
	Nack     uint64 // why
}

// header is a link packet's.
type header struct {
	Packet
	sequence    uint64
	hasSequence bool
	index       uint64
	count       uint64
}

// decode reads a link packet, or a bare network packet.
func decode(wire []byte) (header, error) {
	h := header{count: 1}
	kind, value, rest, err := tlv.Element(wire)
	if err != nil {
		return h, fmt.Errorf("link packet: %w", err)
	}
	if len(rest) > 0 {
		return h, fmt.Errorf("link packet: %d bytes after its end", len(rest))
	}
	switch kind {
	case packet.TypeInterest, packet.TypeData:
		h.Network = wire
		return h, nil
	case typePacket:
	default:
		return h, fmt.Errorf("link packet: type %#x", kind)
	}
	for rest := value; len(rest) > 0; {
		var part []byte
		if kind, part, rest, err = tlv.Element(rest); err != nil {
			return h, fmt.Errorf("link packet: %w", err)
		}
		if err := h.take(kind, part); err != nil {
			return h, fmt.Errorf("link packet: %w", err)
		}
	}
	if h.count == 0 || h.count > MaxFragments || h.index >= h.count {
		return h, fmt.Errorf("link packet: fragment %d of %d, at most %d are taken", h.index, h.count, MaxFragments)
	}
	if h.count > 1 && !h.hasSequence {
		return h, errors.New("link packet: a fragment without a sequence number")
	}
	return h, nil
}

func (h *header) take(kind uint64, value []byte) (err error) {
	switch kind {
	case typeFragment:
		h.Network = value
	case typeSequence:
		if len(value) != sequenceBytes {
			return fmt.Errorf("a sequence number of %d bytes, want %d", len(value), sequenceBytes)
		}
		h.sequence, h.hasSequence = binary.BigEndian.Uint64(value), true
	case typeFragIndex:
		h.index, err = tlv.Uint(value)
	case typeFragCount:
		h.count, err = tlv.Uint(value)
	case typePitToken:
		if len(value) < 1 || len(value) > maxPitTokenBytes {
			return fmt.Errorf("a PIT token of %d bytes, want 1 to %d", len(value), maxPitTokenBytes)
		}
		h.PitToken = string(value)
	case typeCongestionMark:
		h.Mark, err = tlv.Uint(value)
	case typeNack:
		h.IsNack = true
		for rest := value; len(rest) > 0; {
			var part []byte
			if kind, part, rest, err = tlv.Element(rest); err != nil {
				return err
			}
			if kind == typeNackReason {
				h.Nack, err = tlv.Uint(part)
			}
		}
	default:
		if !ignorable(kind) {
			return fmt.Errorf("a header of type %#x", kind)
		}
	}
	return err
}

// ignorable reports whether a receiver may leave a header unread: those of a range
// kept for it whose two lowest bits are 0, and those that this link protocol
// defines and this program has no use for.
func ignorable(kind uint64) bool {
	switch kind {
	case 0x032c, 0x0330, 0x0331, 0x0334, 0x0344, 0x0348, 0x034c, 0x0350:
		return true // incoming and next-hop face, cache policy, acknowledgements, announcements
	}
	return kind >= 800 && kind <= 959 && kind&3 == 0
}

// appendHeaders appends what a packet has beside its fragment.
func (p *Packet) appendHeaders(b []byte) []byte {
	if p.PitToken != "" {
		b = tlv.Append(b, typePitToken, p.PitToken)
	}
	if p.IsNack {
		var reason []byte
		if p.Nack != NackNone {
			reason = tlv.AppendUint(nil, typeNackReason, p.Nack)
		}
		b = tlv.Append(b, typeNack, reason)
	}
	if p.Mark != 0 {
		b = tlv.AppendUint(b, typeCongestionMark, p.Mark)
	}
	return b
}
