// Package produce answers Interests for an object's segments. It has no I/O
// and no clock.
package produce

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"time"

	"ncp-testbed/ndn-agent/lp"
	"ncp-testbed/ndn-agent/packet"
	"ncp-testbed/ndn-agent/tlv"
)

// MaxSegmentBytes leaves room, in a packet of 8800 bytes, for a name and a signature.
const MaxSegmentBytes = 8000

// DefaultSegmentBytes is about what a segment of ndnputchunks has.
const DefaultSegmentBytes = 4400

// Stats count the requests.
type Stats struct {
	Interests uint64
	Answered  uint64
	Unknown   uint64 // of another name
	Malformed uint64
}

// Producer has all segments of an object, encoded and signed, in memory.
type Producer struct {
	Stats Stats

	name   packet.Name
	first  packet.Name // of segment 0
	send   func(lp.Packet)
	sum    string
	bytes  int64
	packed []byte // the packets one after the other
	ends   []int
}

// New reads an object of so many bytes and makes its segments.
func New(name packet.Name, content io.Reader, bytes int64, segmentBytes int, freshness time.Duration, send func(lp.Packet)) (*Producer, error) {
	if bytes < 1 || segmentBytes < 1 || segmentBytes > MaxSegmentBytes {
		return nil, fmt.Errorf("an object of %d bytes in segments of %d, want at least 1 and 1 to %d", bytes, segmentBytes, MaxSegmentBytes)
	}
	count := (bytes + int64(segmentBytes) - 1) / int64(segmentBytes)
	last := uint64(count - 1)
	final := packet.Component{Type: packet.ComponentSegment, Value: string(tlv.AppendUintValue(nil, last))}
	p := &Producer{name: name, first: name.AppendNumber(packet.ComponentSegment, 0), send: send, bytes: bytes, ends: make([]int, 0, count)}
	overhead := tlv.ElementSize(0, len(name)) + 96
	p.packed = make([]byte, 0, bytes+count*int64(overhead))
	sum := sha256.New()
	content = io.TeeReader(content, sum)
	buffer := make([]byte, segmentBytes)
	for left := bytes; left > 0; {
		part := buffer[:min(left, int64(segmentBytes))]
		if _, err := io.ReadFull(content, part); err != nil {
			return nil, err
		}
		d := packet.Data{
			Name: name.AppendNumber(packet.ComponentSegment, uint64(len(p.ends))), Freshness: freshness, FinalBlock: &final, Content: part,
		}
		p.packed = d.Append(p.packed)
		p.ends = append(p.ends, len(p.packed))
		left -= int64(len(part))
	}
	p.sum = hex.EncodeToString(sum.Sum(nil))
	return p, nil
}

// Segments is how many there are.
func (p *Producer) Segments() int { return len(p.ends) }

// Bytes is the object's size.
func (p *Producer) Bytes() int64 { return p.bytes }

// SHA256 is of the object, in hexadecimal.
func (p *Producer) SHA256() string { return p.sum }

// Receive answers an Interest; one for what the producer does not have stays
// without an answer.
func (p *Producer) Receive(in lp.Packet) {
	kind, _, err := tlv.Number(in.Network)
	if err == nil && (in.IsNack || kind != packet.TypeInterest) {
		return // say an answer to its registration
	}
	var i *packet.Interest
	if err == nil {
		i, err = packet.DecodeInterest(in.Network)
	}
	if err != nil {
		p.Stats.Malformed++
		return
	}
	p.Stats.Interests++
	segment, ok := p.find(i)
	if !ok {
		p.Stats.Unknown++
		return
	}
	begin := 0
	if segment > 0 {
		begin = p.ends[segment-1]
	}
	p.Stats.Answered++
	p.send(lp.Packet{Network: p.packed[begin:p.ends[segment]], PitToken: in.PitToken})
}

// find returns the segment that an Interest asks for: by its name, or the first
// one where a prefix will do.
func (p *Producer) find(i *packet.Interest) (uint64, bool) {
	if i.CanBePrefix && p.first.HasPrefix(i.Name) {
		return 0, true
	}
	if !i.Name.HasPrefix(p.name) {
		return 0, false
	}
	c, rest, ok := i.Name[len(p.name):].First()
	if !ok || rest != "" {
		return 0, false
	}
	segment, ok := c.Number(packet.ComponentSegment)
	return segment, ok && segment < uint64(len(p.ends))
}
