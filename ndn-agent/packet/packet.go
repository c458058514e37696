// Package packet is Interest and Data of the NDN packet format 0.3
// (https://docs.named-data.net/NDN-packet-spec/current/). What it decodes are
// parts of the packet's bytes, but for names, which are copies.
package packet

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"ncp-testbed/ndn-agent/tlv"
)

// Types of packets and of what is in them.
const (
	TypeInterest = 0x05
	TypeData     = 0x06

	typeName                   = 0x07
	typeNonce                  = 0x0a
	typeInterestLifetime       = 0x0c
	typeMustBeFresh            = 0x12
	typeMetaInfo               = 0x14
	typeContent                = 0x15
	typeSignatureInfo          = 0x16
	typeSignatureValue         = 0x17
	typeContentType            = 0x18
	typeFreshnessPeriod        = 0x19
	typeFinalBlockID           = 0x1a
	typeSignatureType          = 0x1b
	typeForwardingHint         = 0x1e
	typeCanBePrefix            = 0x21
	typeHopLimit               = 0x22
	typeParameters             = 0x24
	typeInterestSignatureInfo  = 0x2c
	typeInterestSignatureValue = 0x2e
)

// DefaultLifetime is an Interest's that does not say.
const DefaultLifetime = 4 * time.Second

const nonceBytes = 4

// Interest asks for Data.
type Interest struct {
	Name           Name
	CanBePrefix    bool
	MustBeFresh    bool
	Nonce          uint32
	HasNonce       bool
	Lifetime       time.Duration
	HopLimit       int // −1: none
	Parameters     []byte
	SignatureInfo  []byte
	SignatureValue []byte

	// Wire is the packet; hopLimitAt is where its hop limit is, nonceAt where a
	// nonce would be.
	Wire                []byte
	hopLimitAt, nonceAt int
}

// Data is a named, signed piece of content.
type Data struct {
	Name          Name
	ContentType   uint64
	Freshness     time.Duration
	FinalBlock    *Component // nil: unknown
	Content       []byte
	SignatureType uint64
	Signed        []byte // what the signature covers
	Signature     []byte
	Wire          []byte
}

// Matches reports whether Data of that name satisfies the Interest.
func (i *Interest) Matches(data Name) bool {
	return i.Name == data || i.CanBePrefix && data.HasPrefix(i.Name)
}

// fields walks over the elements of a packet's value. Those of known, in their
// order, are given to take; others are left out unless they are critical.
// Known ones that are out of order, or come twice, are treated as unknown.
func fields(value []byte, known []uint64, take func(kind uint64, value []byte, at int) error) error {
	next := 0
	for rest := value; len(rest) > 0; {
		kind, part, after, err := tlv.Element(rest)
		if err != nil {
			return err
		}
		at := len(value) - len(rest)
		rest = after
		if i := slices.Index(known[next:], kind); i >= 0 {
			next += i + 1
			if err := take(kind, part, at); err != nil {
				return err
			}
			continue
		}
		if tlv.Critical(kind) {
			return fmt.Errorf("an element of type %#x has no place there", kind)
		}
	}
	return nil
}

var interestFields = []uint64{
	typeName, typeCanBePrefix, typeMustBeFresh, typeForwardingHint, typeNonce, typeInterestLifetime, typeHopLimit,
	typeParameters, typeInterestSignatureInfo, typeInterestSignatureValue,
}

// DecodeInterest decodes a whole packet.
func DecodeInterest(wire []byte) (*Interest, error) {
	value, err := only(wire, TypeInterest)
	if err != nil {
		return nil, fmt.Errorf("interest: %w", err)
	}
	i := &Interest{Wire: wire, Lifetime: DefaultLifetime, HopLimit: -1}
	head := len(wire) - len(value)
	named := false
	err = fields(value, interestFields, func(kind uint64, part []byte, at int) (err error) {
		end := head + at + tlv.ElementSize(kind, len(part))
		switch kind {
		case typeName:
			named = true
			i.Name, err = DecodeName(part)
			i.nonceAt = end
		case typeCanBePrefix:
			i.CanBePrefix, i.nonceAt = true, end
		case typeMustBeFresh:
			i.MustBeFresh, i.nonceAt = true, end
		case typeForwardingHint:
			i.nonceAt = end
		case typeNonce:
			if len(part) != nonceBytes {
				return fmt.Errorf("a nonce of %d bytes, want %d", len(part), nonceBytes)
			}
			i.HasNonce = true
			i.Nonce = uint32(part[0])<<24 | uint32(part[1])<<16 | uint32(part[2])<<8 | uint32(part[3])
		case typeInterestLifetime:
			i.Lifetime, err = milliseconds(part)
		case typeHopLimit:
			if len(part) != 1 {
				return fmt.Errorf("a hop limit of %d bytes, want 1", len(part))
			}
			i.HopLimit, i.hopLimitAt = int(part[0]), end-1
		case typeParameters:
			i.Parameters = part
		case typeInterestSignatureInfo:
			i.SignatureInfo = part
		case typeInterestSignatureValue:
			i.SignatureValue = part
		}
		return err
	})
	if err == nil && (!named || i.Name == "") {
		err = errors.New("without a name")
	}
	if err != nil {
		return nil, fmt.Errorf("interest: %w", err)
	}
	return i, nil
}

// only takes the one element of that type that a packet is.
func only(wire []byte, want uint64) ([]byte, error) {
	kind, value, rest, err := tlv.Element(wire)
	switch {
	case err != nil:
		return nil, err
	case kind != want:
		return nil, fmt.Errorf("type %#x, want %#x", kind, want)
	case len(rest) > 0:
		return nil, fmt.Errorf("%d bytes after its end", len(rest))
	}
	return value, nil
}

// maxMilliseconds keeps durations far from overflow.
const maxMilliseconds = 1 << 40

func milliseconds(value []byte) (time.Duration, error) {
	ms, err := tlv.Uint(value)
	return time.Duration(min(ms, maxMilliseconds)) * time.Millisecond, err
}

// ForForwarding returns the packet as the next hop gets it: with a nonce, and
// its hop limit one less; false when that is used up. The Interest stays as it
// is, and so do its bytes.
func (i *Interest) ForForwarding(nonce uint32) ([]byte, bool) {
	if i.HopLimit == 0 {
		return nil, false
	}
	if i.HopLimit < 0 && i.HasNonce {
		return i.Wire, true
	}
	out := slices.Clone(i.Wire)
	if i.HopLimit > 0 {
		out[i.hopLimitAt]--
	}
	if i.HasNonce {
		return out, true
	}
	value, _ := only(out, TypeInterest)
	cut := i.nonceAt - (len(out) - len(value))
	element := appendNonce(nil, nonce)
	with := tlv.AppendHeader(make([]byte, 0, len(out)+len(element)+4), TypeInterest, len(value)+len(element))
	return append(append(append(with, value[:cut]...), element...), value[cut:]...), true
}

func appendNonce(b []byte, nonce uint32) []byte {
	return append(tlv.AppendHeader(b, typeNonce, nonceBytes), byte(nonce>>24), byte(nonce>>16), byte(nonce>>8), byte(nonce))
}

// Append appends the packet that the fields describe, without parameters and
// signature.
func (i *Interest) Append(b []byte) []byte {
	lifetime := uint64(i.Lifetime / time.Millisecond)
	size := tlv.ElementSize(typeName, len(i.Name)) + 2 + nonceBytes + tlv.ElementSize(typeInterestLifetime, tlv.UintSize(lifetime))
	if i.CanBePrefix {
		size += 2
	}
	if i.MustBeFresh {
		size += 2
	}
	if i.HopLimit >= 0 {
		size += 3
	}
	b = tlv.AppendHeader(b, TypeInterest, size)
	b = tlv.Append(b, typeName, i.Name)
	if i.CanBePrefix {
		b = tlv.AppendHeader(b, typeCanBePrefix, 0)
	}
	if i.MustBeFresh {
		b = tlv.AppendHeader(b, typeMustBeFresh, 0)
	}
	b = appendNonce(b, i.Nonce)
	b = tlv.AppendUint(b, typeInterestLifetime, lifetime)
	if i.HopLimit >= 0 {
		b = append(tlv.AppendHeader(b, typeHopLimit, 1), byte(i.HopLimit))
	}
	return b
}
