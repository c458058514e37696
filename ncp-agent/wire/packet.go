// Package wire holds the packet of NCP, the NKN control protocol, and its
// protobuf encoding (proto3), compatible with nknorg/ncp-go and npm's @nkn/ncp,
// and carries packets over a stream.
package wire

import "errors"

// MinSequence is the first sequence number; 0 means "no data in this packet".
const MinSequence = 1

// ErrAckLists says that a packet carries ack starts and ack counts of
// different lengths.
var ErrAckLists = errors.New("ncp packet: ack starts and ack counts differ in length")

// Packet is one NCP packet. The zero value of a field means "absent", as in
// proto3. A packet may carry data, acknowledgements and a bytes-read report at
// once; a handshake or close packet carries nothing else.
type Packet struct {
	Sequence    uint32   // field 1; MinSequence and up for data
	Data        []byte   // field 2; aliases the decoded buffer
	AckStarts   []uint32 // field 3; first sequence of each acknowledged range
	AckCounts   []uint32 // field 4; length of each range in packets
	BytesRead   uint64   // field 5; bytes the application has read so far
	ClientIDs   []string // field 6; handshake: one id per connection
	WindowBytes uint32   // field 7; handshake: receive window
	MTUBytes    uint32   // field 8; handshake: most data bytes in a packet
	Close       bool     // field 9
	Handshake   bool     // field 10
}

// Reset empties the packet and keeps its slices' storage.
func (p *Packet) Reset() {
	// One by one: a whole Packet that is made and copied takes ten times as long.
	p.Sequence, p.Data, p.BytesRead = 0, nil, 0
	p.AckStarts, p.AckCounts, p.ClientIDs = p.AckStarts[:0], p.AckCounts[:0], p.ClientIDs[:0]
	p.WindowBytes, p.MTUBytes, p.Close, p.Handshake = 0, 0, false, false
}

// AckRanges returns the number of acknowledged ranges. A sender may leave the
// counts out when all are 1, and the starts out when the start is MinSequence.
// It returns ErrAckLists when both lists are there with different lengths.
func (p *Packet) AckRanges() (int, error) {
	starts, counts := len(p.AckStarts), len(p.AckCounts)
	if starts > 0 && counts > 0 && starts != counts {
		return 0, ErrAckLists
	}
	return max(starts, counts), nil
}

// AckRange returns range i, 0 ≤ i < AckRanges(): its first sequence and its
// length in packets.
func (p *Packet) AckRange(i int) (start, count uint32) {
	start, count = MinSequence, 1
	if len(p.AckStarts) > 0 {
		start = p.AckStarts[i]
	}
	if len(p.AckCounts) > 0 {
		count = p.AckCounts[i]
	}
	return start, count
}
