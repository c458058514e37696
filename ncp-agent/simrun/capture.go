package simrun

import (
	"bufio"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"ncp-testbed/internal/plan"
	"ncp-testbed/ncp-agent/sim"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
)

// captures are links' packets as an interface at each of their ends would show
// them, in the frames that the links count them with (headerBytes).
type captures struct {
	plan   *plan.Plan
	links  []*capturedLink // nil: not requested
	buffer gopacket.SerializeBuffer
	err    error // the first
}

// capturedLink has its end a first.
type capturedLink struct {
	ends [2]struct {
		file *os.File
		out  *bufio.Writer
		pcap *pcapgo.Writer
	}
	mac [2]net.HardwareAddr
}

// capture begins the files LINK-HOST.pcap of the links that the plan names;
// those that it has begun are to be closed, also where it fails.
func capture(p *plan.Plan, dir string) (*captures, error) {
	c := &captures{plan: p, links: make([]*capturedLink, len(p.Links)), buffer: gopacket.NewSerializeBuffer()}
	for i := range p.Links {
		l := &p.Links[i]
		if !slices.Contains(p.Traces.Pcap, l.Name) {
			continue
		}
		k := &capturedLink{}
		c.links[i] = k
		for end, host := range []string{l.A.Host, l.B.Host} {
			file, err := os.Create(filepath.Join(dir, l.Name+"-"+host+".pcap"))
			if err != nil {
				return c, err
			}
			at := &k.ends[end]
			at.file, at.out = file, bufio.NewWriterSize(file, 64<<10)
			at.pcap = pcapgo.NewWriterNanos(at.out)
			if err := at.pcap.WriteFileHeader(65535, layers.LinkTypeEthernet); err != nil {
				return c, err
			}
			k.mac[end] = net.HardwareAddr{2, 0, 0, byte(l.Index >> 8), byte(l.Index), byte(end + 1)}
		}
	}
	return c, nil
}

// frame writes a packet at one end of a link.
func (c *captures) frame(now time.Duration, f *sim.Frame) {
	l := c.links[f.Link]
	if l == nil || c.err != nil {
		return
	}
	from, to := 0, 1
	if f.Back {
		from, to = 1, 0
	}
	at := &l.ends[from]
	if f.Arrived {
		at = &l.ends[to]
	}
	data, err := c.ethernet(f, l.mac[from], l.mac[to])
	if err == nil {
		info := gopacket.CaptureInfo{Timestamp: epoch.Add(now), CaptureLength: len(data), Length: len(data)}
		err = at.pcap.WritePacket(info, data)
	}
	c.err = err
}

// ethernet returns the frame of a packet; it is good until the next.
func (c *captures) ethernet(f *sim.Frame, from, to net.HardwareAddr) ([]byte, error) {
	connection := &c.plan.Sessions[f.Transfer].Connections[f.Connection]
	source, destination := connection.Sender, connection.Receiver
	if f.From == 1 {
		source, destination = destination, source
	}
	ip := layers.IPv4{
		Version: 4, TTL: 64, Flags: layers.IPv4DontFragment, Protocol: layers.IPProtocolUDP,
		SrcIP: source.Addr().AsSlice(), DstIP: destination.Addr().AsSlice(),
	}
	udp := layers.UDP{SrcPort: layers.UDPPort(source.Port()), DstPort: layers.UDPPort(destination.Port())}
	if err := udp.SetNetworkLayerForChecksum(&ip); err != nil {
		return nil, err
	}
	options := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	err := gopacket.SerializeLayers(c.buffer, options,
		&layers.Ethernet{SrcMAC: from, DstMAC: to, EthernetType: layers.EthernetTypeIPv4}, &ip, &udp, gopacket.Payload(f.Packet))
	return c.buffer.Bytes(), err
}

// Close writes the rest.
func (c *captures) Close() error {
	failed := c.err
	for _, l := range c.links {
		if l == nil {
			continue
		}
		for i := range l.ends {
			if at := &l.ends[i]; at.file != nil {
				failed = errors.Join(failed, at.out.Flush(), at.file.Close())
			}
		}
	}
	return failed
}
