package kernel

import (
	"encoding/binary"
	"fmt"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// typeMask leaves out an attribute's flags of nesting and byte order.
const typeMask = 0x3fff

// attributes gives the attributes after the first skip bytes of a message, by type. Of a
// type that comes twice it is the last.
func attributes(body []byte, skip int) (map[uint16][]byte, error) {
	if len(body) < skip {
		return nil, fmt.Errorf("netlink message of %d bytes, want %d or more", len(body), skip)
	}
	list, err := netlink.UnmarshalAttributes(body[skip:])
	if err != nil {
		return nil, fmt.Errorf("netlink message: %w", err)
	}
	found := make(map[uint16][]byte, len(list))
	for _, a := range list {
		found[a.Type&typeMask] = a.Data
	}
	return found, nil
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
