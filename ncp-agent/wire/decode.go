package wire

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// MaxClientIDs is the most client ids a packet may carry. A session pairs at
// most 64 connections, so more are only a cost.
const MaxClientIDs = 1024

var (
	errClientIDs = fmt.Errorf("ncp packet: more than %d client ids", MaxClientIDs)
	errField     = errors.New("ncp packet: field number out of range")
	errUTF8      = errors.New("ncp packet: a client id is not UTF-8")
)

// Decode reads one packet from buf into p, reusing p's slices. Data aliases
// buf. As in proto3 the last of a repeated scalar wins, repeated numbers come
// packed or not, and unknown fields (a known number with another wire type is
// one too) are skipped. Storage grows with the bytes that are there, never
// with a length that they claim.
func (p *Packet) Decode(buf []byte) error {
	p.Reset()
	for len(buf) > 0 {
		field, kind, n := protowire.ConsumeTag(buf)
		if n < 0 {
			return malformed(n)
		}
		if field > protowire.MaxValidNumber {
			return errField
		}
		buf = buf[n:]
		n, err := p.decodeField(field, kind, buf)
		if err != nil {
			return err
		}
		buf = buf[n:]
	}
	return nil
}

// decodeField reads the value of one field and returns its length in bytes.
func (p *Packet) decodeField(field protowire.Number, kind protowire.Type, buf []byte) (int, error) {
	switch kind {
	case protowire.VarintType:
		v, n := protowire.ConsumeVarint(buf)
		if n < 0 {
			return 0, malformed(n)
		}
		p.setVarint(field, v)
		return n, nil
	case protowire.BytesType:
		v, n := protowire.ConsumeBytes(buf)
		if n < 0 {
			return 0, malformed(n)
		}
		return n, p.setBytes(field, v)
	default:
		n := protowire.ConsumeFieldValue(field, kind, buf)
		if n < 0 {
			return 0, malformed(n)
		}
		return n, nil
	}
}

// setVarint takes a varint; uint32 fields keep the low 32 bits, as Go's
// protobuf does.
func (p *Packet) setVarint(field protowire.Number, v uint64) {
	switch field {
	case fieldSequence:
		p.Sequence = uint32(v)
	case fieldAckStarts:
		p.AckStarts = append(p.AckStarts, uint32(v))
	case fieldAckCounts:
		p.AckCounts = append(p.AckCounts, uint32(v))
	case fieldBytesRead:
		p.BytesRead = v
	case fieldWindowBytes:
		p.WindowBytes = uint32(v)
	case fieldMTUBytes:
		p.MTUBytes = uint32(v)
	case fieldClose:
		p.Close = protowire.DecodeBool(v)
	case fieldHandshake:
		p.Handshake = protowire.DecodeBool(v)
	}
}

func (p *Packet) setBytes(field protowire.Number, v []byte) (err error) {
	switch field {
	case fieldData:
		p.Data = v
	case fieldAckStarts:
		p.AckStarts, err = appendUnpacked(p.AckStarts, v)
	case fieldAckCounts:
		p.AckCounts, err = appendUnpacked(p.AckCounts, v)
	case fieldClientIDs:
		if len(p.ClientIDs) == MaxClientIDs {
			return errClientIDs
		}
		if !utf8.Valid(v) {
			return errUTF8
		}
		p.ClientIDs = append(p.ClientIDs, string(v))
	}
	return err
}

func appendUnpacked(values []uint32, packed []byte) ([]uint32, error) {
	for len(packed) > 0 {
		v, n := protowire.ConsumeVarint(packed)
		if n < 0 {
			return values, malformed(n)
		}
		values = append(values, uint32(v))
		packed = packed[n:]
	}
	return values, nil
}

func malformed(n int) error {
	return fmt.Errorf("ncp packet: malformed protobuf: %w", protowire.ParseError(n))
}
