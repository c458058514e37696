package netstat

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"
)

// typeMask leaves out an attribute's flags of nesting and byte order.
const typeMask = 0x3fff

// attributes returns the attributes after the first skip bytes of a message, by type, as parts of it. Of a
// type that comes twice it is the last.
func attributes(body []byte, skip int) (map[uint16][]byte, error) {
	found := map[uint16][]byte{}
	err := each(body, skip, func(kind uint16, value []byte) { found[kind] = value })
	if err != nil {
		return nil, err
	}
	return found, nil
}

// each calls f with the attributes after the first skip bytes of a message. It copies none of them, as the library
// does: among thousands of sockets that is what takes the time.
func each(body []byte, skip int, f func(kind uint16, value []byte)) error {
	if len(body) < skip {
		return fmt.Errorf("netlink message of %d bytes, want %d or more", len(body), skip)
	}
	for rest := body[skip:]; len(rest) > 0; {
		size := 0
		if len(rest) >= unix.SizeofNlAttr {
			size = int(binary.NativeEndian.Uint16(rest))
		}
		if size < unix.SizeofNlAttr || size > len(rest) {
			return fmt.Errorf("netlink message: an attribute of %d bytes, want %d to %d", size, unix.SizeofNlAttr, len(rest))
		}
		f(binary.NativeEndian.Uint16(rest[2:])&typeMask, rest[unix.SizeofNlAttr:size])
		aligned := (size + unix.NLA_ALIGNTO - 1) &^ (unix.NLA_ALIGNTO - 1)
		rest = rest[min(aligned, len(rest)):]
	}
	return nil
}

// u32 and u64 read a number at an offset, 0 where the value is shorter: an older kernel tells less.
func u32(value []byte, at int) uint32 {
	if len(value) < at+4 {
		return 0
	}
	return binary.NativeEndian.Uint32(value[at:])
}

func u64(value []byte, at int) uint64 {
	if len(value) < at+8 {
		return 0
	}
	return binary.NativeEndian.Uint64(value[at:])
}

// text is a string that ends with a zero byte.
func text(value []byte) string { return unix.ByteSliceToString(value) }
