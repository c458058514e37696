package trace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"time"

	"ncp-testbed/ncp-agent/wire"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
	"github.com/gopacket/gopacket/tcpassembly"
)

// Addresses are the two ends of one TCP connection.
type Addresses struct{ Sender, Receiver netip.AddrPort }

// flow is one direction of a TCP connection.
type flow struct{ from, to netip.AddrPort }

// capture feeds a view with what a capture of TCP connections holds.
type capture struct {
	view  *View
	start time.Time
	at    time.Duration // since the first segment
	flows map[flow]*stream
	made  map[flow]map[uint32]bool // answers to a SYN, by their sequence
	err   error

	dialled map[flow]func() // begins a stream with the last SYN, by the answer's flow
}

// stream is one direction of a connection, put together again.
type stream struct {
	*capture
	conn  int
	from  End
	in    *wire.FrameReader
	ended bool
	bytes uint64 // in order
}

// Read feeds the view from a capture (pcap) of the session's TCP connections.
// limit is the largest packet in bytes. The error says that the capture can't be
// read, or that it has a hole, so that nothing follows from it.
func Read(file io.Reader, connections []Addresses, limit int, view *View) error {
	reader, err := pcapgo.NewReader(file)
	if err != nil {
		return err
	}
	c := &capture{view: view, flows: map[flow]*stream{}, made: map[flow]map[uint32]bool{}, dialled: map[flow]func(){}}
	for i, a := range connections {
		c.flows[flow{a.Sender, a.Receiver}] = &stream{capture: c, conn: i, from: Sender, in: wire.NewFrameReader(limit)}
		c.flows[flow{a.Receiver, a.Sender}] = &stream{capture: c, conn: i, from: Receiver, in: wire.NewFrameReader(limit)}
	}
	assembler := tcpassembly.NewAssembler(tcpassembly.NewStreamPool(c))
	for {
		data, info, err := reader.ReadPacketData()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if info.CaptureLength < info.Length {
			return fmt.Errorf("a frame of %d bytes was captured to %d bytes only", info.Length, info.CaptureLength)
		}
		c.segment(assembler, gopacket.NewPacket(data, reader.LinkType(), gopacket.NoCopy), info.Timestamp)
	}
	assembler.FlushAll()
	return c.err
}

func (c *capture) segment(assembler *tcpassembly.Assembler, p gopacket.Packet, at time.Time) {
	network, tcp := p.NetworkLayer(), layers.TCP{}
	found, ok := p.TransportLayer().(*layers.TCP)
	if network == nil || !ok || !whole(found) {
		return
	}
	tcp = *found
	key := flowOf(network.NetworkFlow(), tcp.TransportFlow())
	s := c.flows[key]
	if s == nil {
		c.view.violation("stranger "+key.from.String(), "an unexpected TCP connection: %v to %v", key.from, key.to)
		return
	}
	if c.start.IsZero() {
		c.start = at
	}
	c.at = at.Sub(c.start)
	opened := &c.view.facts.Connections[s.conn].Opened
	switch {
	case tcp.SYN && !tcp.ACK: // the stream begins with the one that is taken, after those that nobody listened to
		c.dialled[flow{key.to, key.from}] = func() {
			assembler.AssembleWithTimestamp(network.NetworkFlow(), &tcp, at)
		}
		return
	case tcp.SYN:
		if c.made[key] == nil {
			c.made[key] = map[uint32]bool{}
		}
		if !c.made[key][tcp.Seq] {
			c.made[key][tcp.Seq] = true
			*opened++
			if begin := c.dialled[key]; begin != nil {
				begin()
			}
		}
	case *opened == 0 && len(tcp.Payload) == 0:
		return // a refusal
	}
	if n := len(tcp.Payload); n > 0 {
		d := c.view.direction(s.conn, s.from)
		d.TCPSegments++
		d.TCPBytes += uint64(n)
		d.TCPResentBytes += uint64(n)
	}
	assembler.AssembleWithTimestamp(network.NetworkFlow(), &tcp, at)
}

// whole reports whether all of a TCP header is there. One that is cut off is a layer
// of the packet all the same, without ports.
func whole(tcp *layers.TCP) bool {
	n := len(tcp.Contents)
	return n >= 20 && n == 4*int(tcp.DataOffset)
}

// New hands the assembler the stream of a flow.
func (c *capture) New(network, transport gopacket.Flow) tcpassembly.Stream {
	return c.flows[flowOf(network, transport)]
}

func flowOf(network, transport gopacket.Flow) flow {
	end := func(host, port gopacket.Endpoint) netip.AddrPort {
		address, _ := netip.AddrFromSlice(host.Raw())
		raw := port.Raw()
		return netip.AddrPortFrom(address, uint16(raw[0])<<8|uint16(raw[1]))
	}
	return flow{end(network.Src(), transport.Src()), end(network.Dst(), transport.Dst())}
}

// Reassembled takes what has become whole of the stream.
func (s *stream) Reassembled(parts []tcpassembly.Reassembly) {
	for _, part := range parts {
		if s.ended {
			return // what is sent again after the stream's end was there before
		}
		if part.Skip != 0 && len(part.Bytes) > 0 {
			s.err = errors.Join(s.err, fmt.Errorf("connection %d, from %v: the capture has a hole after %d bytes", s.conn+1, s.from, s.bytes))
			s.ended = true
			return
		}
		s.take(part.Bytes)
		s.ended = s.ended || part.End
	}
}

// ReassemblyComplete is the assembler's word that a stream is over.
func (s *stream) ReassemblyComplete() {}

// take cuts bytes of the stream into packets for the view.
func (s *stream) take(data []byte) {
	s.bytes += uint64(len(data))
	s.view.direction(s.conn, s.from).TCPResentBytes -= uint64(len(data))
	from := bytes.NewReader(data)
	for from.Len() > 0 {
		if err := s.in.Fill(from); err != nil {
			return
		}
		for {
			body, ok, err := s.in.Next()
			if err != nil {
				s.view.Malformed(s.conn, s.from, err)
				s.ended = true
				return
			}
			if !ok {
				break
			}
			var p wire.Packet
			if err := p.Decode(body); err != nil {
				s.view.Malformed(s.conn, s.from, err)
				continue
			}
			s.view.Packet(s.at, s.conn, s.from, &p)
		}
	}
}
