package wire

import "google.golang.org/protobuf/encoding/protowire"

// Field numbers of the protobuf message.
const (
	fieldSequence    protowire.Number = 1
	fieldData        protowire.Number = 2
	fieldAckStarts   protowire.Number = 3
	fieldAckCounts   protowire.Number = 4
	fieldBytesRead   protowire.Number = 5
	fieldClientIDs   protowire.Number = 6
	fieldWindowBytes protowire.Number = 7
	fieldMTUBytes    protowire.Number = 8
	fieldClose       protowire.Number = 9
	fieldHandshake   protowire.Number = 10
)

// Append adds the packet's encoding to dst and returns the longer slice. The
// bytes are those of Go's protobuf in deterministic order: fields by number,
// zero values left out, repeated numbers packed.
func (p *Packet) Append(dst []byte) []byte {
	dst = appendVarint(dst, fieldSequence, uint64(p.Sequence))
	if len(p.Data) > 0 {
		dst = protowire.AppendTag(dst, fieldData, protowire.BytesType)
		dst = protowire.AppendBytes(dst, p.Data)
	}
	dst = appendPacked(dst, fieldAckStarts, p.AckStarts)
	dst = appendPacked(dst, fieldAckCounts, p.AckCounts)
	dst = appendVarint(dst, fieldBytesRead, p.BytesRead)
	for _, id := range p.ClientIDs {
		dst = protowire.AppendTag(dst, fieldClientIDs, protowire.BytesType)
		dst = protowire.AppendString(dst, id)
	}
	dst = appendVarint(dst, fieldWindowBytes, uint64(p.WindowBytes))
	dst = appendVarint(dst, fieldMTUBytes, uint64(p.MTUBytes))
	dst = appendVarint(dst, fieldClose, protowire.EncodeBool(p.Close))
	return appendVarint(dst, fieldHandshake, protowire.EncodeBool(p.Handshake))
}

func appendVarint(dst []byte, field protowire.Number, value uint64) []byte {
	if value == 0 {
		return dst
	}
	dst = protowire.AppendTag(dst, field, protowire.VarintType)
	return protowire.AppendVarint(dst, value)
}

func appendPacked(dst []byte, field protowire.Number, values []uint32) []byte {
	if len(values) == 0 {
		return dst
	}
	size := 0
	for _, v := range values {
		size += protowire.SizeVarint(uint64(v))
	}
	dst = protowire.AppendTag(dst, field, protowire.BytesType)
	dst = protowire.AppendVarint(dst, uint64(size))
	for _, v := range values {
		dst = protowire.AppendVarint(dst, uint64(v))
	}
	return dst
}
