package wire

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// oracle is the NCP message as Go's protobuf runtime knows it.
var oracle = newOracle()

func newOracle() protoreflect.MessageDescriptor {
	type kind = descriptorpb.FieldDescriptorProto_Type
	const (
		u32  = descriptorpb.FieldDescriptorProto_TYPE_UINT32
		u64  = descriptorpb.FieldDescriptorProto_TYPE_UINT64
		bs   = descriptorpb.FieldDescriptorProto_TYPE_BYTES
		str  = descriptorpb.FieldDescriptorProto_TYPE_STRING
		flag = descriptorpb.FieldDescriptorProto_TYPE_BOOL
	)
	one := descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL
	many := descriptorpb.FieldDescriptorProto_LABEL_REPEATED
	field := func(name string, number int32, k kind, label descriptorpb.FieldDescriptorProto_Label) *descriptorpb.FieldDescriptorProto {
		return &descriptorpb.FieldDescriptorProto{Name: &name, Number: &number, Type: &k, Label: &label}
	}
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("packet.proto"), Package: proto.String("pb"), Syntax: proto.String("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{{Name: proto.String("Packet"), Field: []*descriptorpb.FieldDescriptorProto{
			field("sequence_id", 1, u32, one), field("data", 2, bs, one),
			field("ack_start_seq", 3, u32, many), field("ack_seq_count", 4, u32, many),
			field("bytes_read", 5, u64, one), field("client_ids", 6, str, many),
			field("window_size", 7, u32, one), field("mtu", 8, u32, one),
			field("close", 9, flag, one), field("handshake", 10, flag, one),
		}}},
	}, nil)
	if err != nil {
		panic(err)
	}
	return file.Messages().Get(0)
}

// oracleDecode decodes buf with Go's protobuf.
func oracleDecode(buf []byte) (Packet, error) {
	m := dynamicpb.NewMessage(oracle)
	if err := proto.Unmarshal(buf, m); err != nil {
		return Packet{}, err
	}
	get := func(n protoreflect.FieldNumber) protoreflect.Value { return m.Get(oracle.Fields().ByNumber(n)) }
	numbers := func(n protoreflect.FieldNumber) (out []uint32) {
		for i, list := 0, get(n).List(); i < list.Len(); i++ {
			out = append(out, uint32(list.Get(i).Uint()))
		}
		return out
	}
	p := Packet{
		Sequence: uint32(get(1).Uint()), Data: get(2).Bytes(),
		AckStarts: numbers(3), AckCounts: numbers(4), BytesRead: get(5).Uint(),
		WindowBytes: uint32(get(7).Uint()), MTUBytes: uint32(get(8).Uint()),
		Close: get(9).Bool(), Handshake: get(10).Bool(),
	}
	for i, list := 0, get(6).List(); i < list.Len(); i++ {
		p.ClientIDs = append(p.ClientIDs, list.Get(i).String())
	}
	return p, nil
}

// oracleEncode encodes p with Go's protobuf in deterministic order.
func oracleEncode(t testing.TB, p Packet) []byte {
	t.Helper()
	m := dynamicpb.NewMessage(oracle)
	field := func(n protoreflect.FieldNumber) protoreflect.FieldDescriptor { return oracle.Fields().ByNumber(n) }
	numbers := func(n protoreflect.FieldNumber, values []uint32) {
		list := m.Mutable(field(n)).List()
		for _, v := range values {
			list.Append(protoreflect.ValueOfUint32(v))
		}
	}
	m.Set(field(1), protoreflect.ValueOfUint32(p.Sequence))
	m.Set(field(2), protoreflect.ValueOfBytes(p.Data))
	numbers(3, p.AckStarts)
	numbers(4, p.AckCounts)
	m.Set(field(5), protoreflect.ValueOfUint64(p.BytesRead))
	for _, id := range p.ClientIDs {
		m.Mutable(field(6)).List().Append(protoreflect.ValueOfString(id))
	}
	m.Set(field(7), protoreflect.ValueOfUint32(p.WindowBytes))
	m.Set(field(8), protoreflect.ValueOfUint32(p.MTUBytes))
	m.Set(field(9), protoreflect.ValueOfBool(p.Close))
	m.Set(field(10), protoreflect.ValueOfBool(p.Handshake))
	buf, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return buf
}
