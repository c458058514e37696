package packet

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"ncp-testbed/ndn-agent/tlv"
)

// Types of name components, of the naming conventions' third revision
// (https://named-data.net/publications/techreports/ndn-tr-22-3-ndn-memo-naming-conventions/).
const (
	ComponentImplicitDigest   = 1
	ComponentParametersDigest = 2
	ComponentGeneric          = 8
	ComponentSegment          = 50
	ComponentVersion          = 54
)

const (
	digestBytes = 32
	// MaxComponents is of a name: the work for a packet is bounded by it.
	MaxComponents    = 128
	maxComponentType = 1<<16 - 1
)

// numbered are the typed components that a URI writes as a number, seg=7.
var numbered = map[string]uint64{"seg": ComponentSegment, "off": 52, "v": ComponentVersion, "t": 56, "seq": 58}

// digests are those that it writes in hexadecimal.
var digests = map[string]uint64{"sha256digest": ComponentImplicitDigest, "params-sha256": ComponentParametersDigest}

// Name is a name as on the wire: its components one after the other, without
// the type and length of the name itself. Components say where they end, so
// one name is a prefix of another where its bytes are.
type Name string

// HasPrefix reports whether the name is, or is under, the prefix.
func (n Name) HasPrefix(prefix Name) bool { return strings.HasPrefix(string(n), string(prefix)) }

// Append returns the name with one component more.
func (n Name) Append(kind uint64, value []byte) Name {
	b := append(make([]byte, 0, len(n)+tlv.ElementSize(kind, len(value))), n...)
	return Name(tlv.Append(b, kind, value))
}

// AppendNumber returns the name with a numbered component more, such as a segment.
func (n Name) AppendNumber(kind, number uint64) Name {
	return n.Append(kind, tlv.AppendUintValue(nil, number))
}

// Component is a part of a name.
type Component struct {
	Type  uint64
	Value string
}

// Number returns the number that a component of that type holds.
func (c Component) Number(kind uint64) (uint64, bool) {
	if c.Type != kind {
		return 0, false
	}
	n, err := tlv.Uint([]byte(c.Value))
	return n, err == nil
}

// First returns the name's first component, and the rest of it.
func (n Name) First() (c Component, rest Name, ok bool) {
	kind, tail, err := number(string(n))
	if err != nil {
		return Component{}, "", false
	}
	length, tail, err := number(tail)
	if err != nil || length > uint64(len(tail)) {
		return Component{}, "", false
	}
	return Component{kind, tail[:length]}, Name(tail[length:]), true
}

// number reads a type or length from a string without copying it.
func number(s string) (uint64, string, error) {
	var head [9]byte
	size := copy(head[:], s)
	n, rest, err := tlv.Number(head[:size])
	if err != nil {
		return 0, "", err
	}
	return n, s[size-len(rest):], nil
}

// Last returns the name's last component, and the name without it.
func (n Name) Last() (c Component, parent Name, ok bool) {
	for rest := n; rest != ""; {
		before := len(n) - len(rest)
		if c, rest, ok = rest.First(); !ok {
			return Component{}, "", false
		}
		parent = n[:before]
	}
	return c, parent, ok
}

// Prefixes calls yield with the name's prefixes, shortest (the empty name)
// first, the name itself last, until it returns false.
func (n Name) Prefixes(yield func(Name) bool) {
	for rest := n; yield(n[:len(n)-len(rest)]) && rest != ""; {
		var ok bool
		if _, rest, ok = rest.First(); !ok {
			return
		}
	}
}

// DecodeName checks a name's value.
func DecodeName(value []byte) (Name, error) {
	count := 0
	for rest := value; len(rest) > 0; count++ {
		kind, part, after, err := tlv.Element(rest)
		if err != nil {
			return "", fmt.Errorf("name: %w", err)
		}
		if kind > maxComponentType {
			return "", fmt.Errorf("name: a component of type %d, want at most %d", kind, maxComponentType)
		}
		if (kind == ComponentImplicitDigest || kind == ComponentParametersDigest) && len(part) != digestBytes {
			return "", fmt.Errorf("name: a digest of %d bytes, want %d", len(part), digestBytes)
		}
		rest = after
	}
	if count > MaxComponents {
		return "", fmt.Errorf("name: %d components, at most %d are taken", count, MaxComponents)
	}
	return Name(value), nil
}

// String writes the name as a URI: /a/seg=7.
func (n Name) String() string {
	if n == "" {
		return "/"
	}
	var out strings.Builder
	for rest := n; rest != ""; {
		c, after, ok := rest.First()
		if !ok {
			return out.String() + "/?"
		}
		out.WriteString("/" + c.String())
		rest = after
	}
	return out.String()
}

func (c Component) String() string {
	for label, kind := range numbered {
		if n, ok := c.Number(kind); ok {
			return label + "=" + strconv.FormatUint(n, 10)
		}
	}
	for label, kind := range digests {
		if c.Type == kind {
			return fmt.Sprintf("%s=%x", label, c.Value)
		}
	}
	text := escape(c.Value)
	if strings.Trim(c.Value, ".") == "" {
		text = "..." + c.Value
	}
	if c.Type == ComponentGeneric {
		return text
	}
	return strconv.FormatUint(c.Type, 10) + "=" + text
}

func escape(value string) string {
	var out strings.Builder
	for i := range len(value) {
		b := value[i]
		switch {
		case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9', strings.IndexByte("-._~", b) >= 0:
			out.WriteByte(b)
		default:
			fmt.Fprintf(&out, "%%%02X", b)
		}
	}
	return out.String()
}

// ParseName reads a name as a URI, with or without "ndn:" before it.
func ParseName(uri string) (Name, error) {
	text := strings.TrimPrefix(uri, "ndn:")
	if !strings.HasPrefix(text, "/") {
		return "", fmt.Errorf("%q is no name, want one like /a/b", uri)
	}
	if text == "/" {
		return "", nil
	}
	var name Name
	count := 0
	for part := range strings.SplitSeq(strings.TrimSuffix(text[1:], "/"), "/") {
		kind, value, err := parseComponent(part)
		if err != nil {
			return "", fmt.Errorf("%q is no name: component %q: %w", uri, part, err)
		}
		name = name.Append(kind, value)
		count++
	}
	if count > MaxComponents {
		return "", fmt.Errorf("%q has %d components, want at most %d", uri, count, MaxComponents)
	}
	return name, nil
}

func parseComponent(text string) (kind uint64, value []byte, err error) {
	label, after, typed := strings.Cut(text, "=")
	if !typed {
		value, err = unescape(text)
		return ComponentGeneric, value, err
	}
	if kind, ok := numbered[label]; ok {
		n, err := strconv.ParseUint(after, 10, 64)
		if err != nil {
			return 0, nil, errors.New("want a number after =")
		}
		return kind, tlv.AppendUintValue(nil, n), nil
	}
	if kind, ok := digests[label]; ok {
		value = make([]byte, digestBytes)
		if n, err := fmt.Sscanf(after, "%x", &value); err != nil || n != 1 || len(value) != digestBytes {
			return 0, nil, fmt.Errorf("want %d hexadecimal digits after =", 2*digestBytes)
		}
		return kind, value, nil
	}
	if kind, err = strconv.ParseUint(label, 10, 16); err != nil || kind <= ComponentParametersDigest {
		return 0, nil, fmt.Errorf("want a type of 3 to %d, seg, off, v, t or seq before =", maxComponentType)
	}
	value, err = unescape(after)
	return kind, value, err
}

func unescape(text string) ([]byte, error) {
	value, err := url.PathUnescape(text)
	if err != nil {
		return nil, err
	}
	if strings.Trim(value, ".") == "" { // "..." is the empty component, "...." one period
		if len(value) < 3 {
			return nil, errors.New("empty, . and .. have no meaning in a name")
		}
		value = value[3:]
	}
	return []byte(value), nil
}
