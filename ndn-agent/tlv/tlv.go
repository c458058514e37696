// Package tlv is the type-length-value encoding of the NDN packet format 0.3
// (https://docs.named-data.net/NDN-packet-spec/current/tlv.html).
package tlv

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// MaxElementBytes bounds an element as it comes from a stream, where nothing
// else does: a datagram can't be longer.
const MaxElementBytes = 1<<16 - 1

// What can be wrong with an encoding.
var (
	ErrShort      = errors.New("tlv: the element is longer than what is there")
	ErrNotMinimal = errors.New("tlv: a number is not in its shortest form")
	ErrType       = errors.New("tlv: a type is 0 or above 2^32−1")
)

// AppendNumber appends a type or a length.
func AppendNumber(b []byte, n uint64) []byte {
	switch {
	case n < 253:
		return append(b, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, 253), uint16(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(b, 254), uint32(n))
	default:
		return binary.BigEndian.AppendUint64(append(b, 255), n)
	}
}

// NumberSize is how many bytes AppendNumber appends.
func NumberSize(n uint64) int {
	switch {
	case n < 253:
		return 1
	case n <= math.MaxUint16:
		return 3
	case n <= math.MaxUint32:
		return 5
	default:
		return 9
	}
}

// ElementSize is the size of an element whose value has so many bytes.
func ElementSize(kind uint64, value int) int {
	return NumberSize(kind) + NumberSize(uint64(value)) + value
}

// AppendHeader appends the type and the length of an element.
func AppendHeader(b []byte, kind uint64, length int) []byte {
	return AppendNumber(AppendNumber(b, kind), uint64(length))
}

// Append appends a whole element.
func Append[T ~[]byte | ~string](b []byte, kind uint64, value T) []byte {
	return append(AppendHeader(b, kind, len(value)), value...)
}

// UintSize is the length of a non-negative integer's value: 1, 2, 4 or 8.
func UintSize(n uint64) int {
	switch {
	case n <= math.MaxUint8:
		return 1
	case n <= math.MaxUint16:
		return 2
	case n <= math.MaxUint32:
		return 4
	default:
		return 8
	}
}

// AppendUint appends an element that is a non-negative integer.
func AppendUint(b []byte, kind, n uint64) []byte {
	return AppendUintValue(AppendHeader(b, kind, UintSize(n)), n)
}

// AppendUintValue appends a non-negative integer without type and length.
func AppendUintValue(b []byte, n uint64) []byte {
	switch UintSize(n) {
	case 1:
		return append(b, byte(n))
	case 2:
		return binary.BigEndian.AppendUint16(b, uint16(n))
	case 4:
		return binary.BigEndian.AppendUint32(b, uint32(n))
	default:
		return binary.BigEndian.AppendUint64(b, n)
	}
}

// Uint reads a non-negative integer; its length is 1, 2, 4 or 8, and it need
// not be the shortest.
func Uint(value []byte) (uint64, error) {
	switch len(value) {
	case 1:
		return uint64(value[0]), nil
	case 2:
		return uint64(binary.BigEndian.Uint16(value)), nil
	case 4:
		return uint64(binary.BigEndian.Uint32(value)), nil
	case 8:
		return binary.BigEndian.Uint64(value), nil
	default:
		return 0, fmt.Errorf("tlv: a non-negative integer of %d bytes, want 1, 2, 4 or 8", len(value))
	}
}

// Number reads a type or a length and returns what follows it.
func Number(b []byte) (n uint64, rest []byte, err error) {
	if len(b) == 0 {
		return 0, nil, ErrShort
	}
	size := 1
	switch b[0] {
	case 253:
		size = 3
	case 254:
		size = 5
	case 255:
		size = 9
	}
	if len(b) < size {
		return 0, nil, ErrShort
	}
	switch size {
	case 1:
		n = uint64(b[0])
	case 3:
		n = uint64(binary.BigEndian.Uint16(b[1:]))
	case 5:
		n = uint64(binary.BigEndian.Uint32(b[1:]))
	case 9:
		n = binary.BigEndian.Uint64(b[1:])
	}
	if NumberSize(n) != size {
		return 0, nil, ErrNotMinimal
	}
	return n, b[size:], nil
}

// Element reads one element; value and rest are parts of b.
func Element(b []byte) (kind uint64, value, rest []byte, err error) {
	kind, rest, err = Number(b)
	if err != nil {
		return 0, nil, nil, err
	}
	if kind == 0 || kind > math.MaxUint32 {
		return 0, nil, nil, ErrType
	}
	length, rest, err := Number(rest)
	if err != nil {
		return 0, nil, nil, err
	}
	if length > uint64(len(rest)) {
		return 0, nil, nil, ErrShort
	}
	return kind, rest[:length:length], rest[length:], nil
}

// Size is that of the element at the beginning of a stream's bytes: 0 when
// more of them are needed to tell. It fails where no element can begin or one
// is longer than MaxElementBytes.
func Size(b []byte) (int, error) {
	kind, rest, err := Number(b)
	if errors.Is(err, ErrShort) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if kind == 0 || kind > math.MaxUint32 {
		return 0, ErrType
	}
	length, rest, err := Number(rest)
	if errors.Is(err, ErrShort) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if length > MaxElementBytes {
		return 0, fmt.Errorf("tlv: an element of %d bytes, %d are taken", length, MaxElementBytes)
	}
	return len(b) - len(rest) + int(length), nil
}

// Critical reports whether a receiver that does not know a type inside a packet
// has to refuse the packet.
func Critical(kind uint64) bool { return kind <= 31 || kind&1 == 1 }
