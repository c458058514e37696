package lp

import (
	"encoding/binary"
	"errors"
	"fmt"

	"ncp-testbed/ndn-agent/tlv"
)

// fragmentOverhead is a bound of what a fragment has beside its part and the
// packet's headers: type and length of the packet and of the fragment, the
// sequence number, index and count.
const fragmentOverhead = 4 + 4 + 10 + 3 + 3

// headersBound is a bound of a packet's own headers.
const headersBound = 2 + maxPitTokenBytes + 16 + 12

// MinMTU is the least that a link's packets may be bounded to.
const MinMTU = 256

// Encoder turns packets into link packets of at most MTU bytes.
type Encoder struct {
	MTU int // 0: no bound, as on a stream

	sequence uint64
	buffer   []byte
	headers  []byte
	frames   [][]byte
}

// Encode returns the link packets of a packet, the network packet itself where
// it needs no header. They are good until the next call.
func (e *Encoder) Encode(p Packet) ([][]byte, error) {
	e.frames, e.buffer = e.frames[:0], e.buffer[:0]
	e.headers = p.appendHeaders(e.headers[:0])
	whole := len(p.Network)
	if len(e.headers) > 0 {
		whole = tlv.ElementSize(typePacket, len(e.headers)+tlv.ElementSize(typeFragment, len(p.Network)))
	}
	if e.MTU == 0 || whole <= e.MTU {
		if len(e.headers) == 0 {
			e.frames = append(e.frames, p.Network)
			return e.frames, nil
		}
		e.appendFrame(e.headers, p.Network)
		return e.frames, nil
	}
	return e.fragment(p.Network)
}

// appendFrame builds one link packet at the end of the buffer.
func (e *Encoder) appendFrame(headers, part []byte) {
	begin := len(e.buffer)
	e.buffer = tlv.AppendHeader(e.buffer, typePacket, len(headers)+tlv.ElementSize(typeFragment, len(part)))
	e.buffer = append(e.buffer, headers...)
	e.buffer = tlv.Append(e.buffer, typeFragment, part)
	e.frames = append(e.frames, e.buffer[begin:len(e.buffer):len(e.buffer)])
}

// fragment cuts a packet into parts of equal length; the first has the
// packet's headers.
func (e *Encoder) fragment(network []byte) ([][]byte, error) {
	room := e.MTU - fragmentOverhead - headersBound
	if room < 1 {
		return nil, fmt.Errorf("link packets of %d bytes, want at least %d", e.MTU, MinMTU)
	}
	count := (len(network) + room - 1) / room
	if count > MaxFragments {
		return nil, fmt.Errorf("a packet of %d bytes needs %d fragments of %d, want at most %d", len(network), count, e.MTU, MaxFragments)
	}
	if need := len(network) + count*(fragmentOverhead+headersBound); cap(e.buffer) < need {
		e.buffer = make([]byte, 0, need) // the frames are parts of it, so it must not move
	}
	var headers []byte
	for i := range count {
		headers = binary.BigEndian.AppendUint64(tlv.AppendHeader(headers[:0], typeSequence, sequenceBytes), e.sequence)
		headers = tlv.AppendUint(headers, typeFragIndex, uint64(i))
		headers = tlv.AppendUint(headers, typeFragCount, uint64(count))
		if i == 0 {
			headers = append(headers, e.headers...)
		}
		e.appendFrame(headers, network[i*room:min((i+1)*room, len(network))])
		e.sequence++
	}
	return e.frames, nil
}

var errEmpty = errors.New("link packet: without a network packet")
