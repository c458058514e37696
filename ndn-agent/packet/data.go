package packet

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"ncp-testbed/ndn-agent/tlv"
)

// Signature types; others are taken but can't be checked here.
const (
	DigestSHA256 = 0
)

var (
	dataFields = []uint64{typeName, typeMetaInfo, typeContent, typeSignatureInfo, typeSignatureValue}
	metaFields = []uint64{typeContentType, typeFreshnessPeriod, typeFinalBlockID}
)

// DecodeData decodes a whole packet.
func DecodeData(wire []byte) (*Data, error) {
	value, err := only(wire, TypeData)
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	d := &Data{Wire: wire}
	begin, end := -1, -1
	named := false
	err = fields(value, dataFields, func(kind uint64, part []byte, at int) (err error) {
		switch kind {
		case typeName:
			d.Name, err = DecodeName(part)
			named = true
			begin = at
		case typeMetaInfo:
			err = d.decodeMeta(part)
		case typeContent:
			d.Content = part
		case typeSignatureInfo:
			end = at + tlv.ElementSize(kind, len(part))
			err = d.decodeSignatureInfo(part)
		case typeSignatureValue:
			d.Signature = part
		}
		return err
	})
	switch {
	case err != nil:
	case !named:
		err = errors.New("without a name")
	case end < 0 || d.Signature == nil:
		err = errors.New("without a signature")
	}
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	d.Signed = value[begin:end]
	return d, nil
}

func (d *Data) decodeMeta(value []byte) error {
	return fields(value, metaFields, func(kind uint64, part []byte, _ int) (err error) {
		switch kind {
		case typeContentType:
			d.ContentType, err = tlv.Uint(part)
		case typeFreshnessPeriod:
			d.Freshness, err = milliseconds(part)
		case typeFinalBlockID:
			name, err := DecodeName(part)
			if err != nil {
				return err
			}
			c, rest, ok := name.First()
			if !ok || rest != "" {
				return errors.New("a final block id that is not one component")
			}
			d.FinalBlock = &c
		}
		return err
	})
}

func (d *Data) decodeSignatureInfo(value []byte) error {
	found := false
	// Key locators and what else belongs to other signature types is theirs.
	for rest := value; len(rest) > 0; {
		kind, part, after, err := tlv.Element(rest)
		if err != nil {
			return err
		}
		if kind == typeSignatureType && !found {
			found = true
			if d.SignatureType, err = tlv.Uint(part); err != nil {
				return err
			}
		}
		rest = after
	}
	if !found {
		return errors.New("a signature without a type")
	}
	return nil
}

// Intact reports whether the packet has the digest that it says; false, with
// checked false, when its signature is of another kind.
func (d *Data) Intact() (intact, checked bool) {
	if d.SignatureType != DigestSHA256 {
		return false, false
	}
	sum := sha256.Sum256(d.Signed)
	return bytes.Equal(sum[:], d.Signature), true
}

// Append appends the packet that the fields describe, signed by its digest.
func (d *Data) Append(b []byte) []byte {
	var meta []byte
	if d.ContentType != 0 {
		meta = tlv.AppendUint(meta, typeContentType, d.ContentType)
	}
	if d.Freshness > 0 {
		meta = tlv.AppendUint(meta, typeFreshnessPeriod, uint64(d.Freshness/time.Millisecond))
	}
	if d.FinalBlock != nil {
		meta = tlv.Append(meta, typeFinalBlockID, tlv.Append(nil, d.FinalBlock.Type, d.FinalBlock.Value))
	}
	info := tlv.AppendUint(nil, typeSignatureType, DigestSHA256)
	size := tlv.ElementSize(typeName, len(d.Name)) + tlv.ElementSize(typeContent, len(d.Content)) +
		tlv.ElementSize(typeSignatureInfo, len(info)) + tlv.ElementSize(typeSignatureValue, sha256.Size)
	if len(meta) > 0 {
		size += tlv.ElementSize(typeMetaInfo, len(meta))
	}
	b = tlv.AppendHeader(b, TypeData, size)
	begin := len(b)
	b = tlv.Append(b, typeName, d.Name)
	if len(meta) > 0 {
		b = tlv.Append(b, typeMetaInfo, meta)
	}
	b = tlv.Append(b, typeContent, d.Content)
	b = tlv.Append(b, typeSignatureInfo, info)
	sum := sha256.Sum256(b[begin:])
	return tlv.Append(b, typeSignatureValue, sum[:])
}
