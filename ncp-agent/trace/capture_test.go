package trace

import (
	"bytes"
	"fmt"
	"net"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"ncp-testbed/ncp-agent/wire"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
	"pgregory.net/rapid"
)

const limit = 2048

func addresses(conn int) Addresses {
	at := func(host byte) netip.AddrPort {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 18, byte(conn + 1), host}), uint16(31001+conn))
	}
	return Addresses{at(1), at(2)}
}

// recorder writes a capture of TCP segments.
type recorder struct {
	file   bytes.Buffer
	writer *pcapgo.Writer
	at     time.Time
	next   map[flow]uint32 // TCP sequence
}

func newRecorder() *recorder {
	r := &recorder{at: time.Unix(1e9, 0), next: map[flow]uint32{}}
	r.writer = pcapgo.NewWriter(&r.file)
	r.writer.WriteFileHeader(65536, layers.LinkTypeEthernet)
	return r
}

func flowFrom(conn int, from End) flow {
	a := addresses(conn)
	if from == Sender {
		return flow{a.Sender, a.Receiver}
	}
	return flow{a.Receiver, a.Sender}
}

// segment makes a frame; it is not in the capture yet.
func segment(f flow, tcp layers.TCP, payload []byte) []byte {
	ip := layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolTCP, SrcIP: net.IP(f.from.Addr().AsSlice()), DstIP: net.IP(f.to.Addr().AsSlice())}
	tcp.SrcPort, tcp.DstPort = layers.TCPPort(f.from.Port()), layers.TCPPort(f.to.Port())
	tcp.SetNetworkLayerForChecksum(&ip)
	buf := gopacket.NewSerializeBuffer()
	err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true},
		&layers.Ethernet{SrcMAC: make(net.HardwareAddr, 6), DstMAC: make(net.HardwareAddr, 6), EthernetType: layers.EthernetTypeIPv4},
		&ip, &tcp, gopacket.Payload(payload))
	if err != nil {
		panic(err)
	}
	return bytes.Clone(buf.Bytes())
}

func (r *recorder) record(frames ...[]byte) {
	for _, f := range frames {
		r.at = r.at.Add(time.Millisecond)
		r.writer.WritePacket(gopacket.CaptureInfo{Timestamp: r.at, CaptureLength: len(f), Length: len(f)}, f)
	}
}

// open is a TCP connection's beginning.
func (r *recorder) open(conn int, initial uint32) {
	there, back := flowFrom(conn, Sender), flowFrom(conn, Receiver)
	r.record(segment(there, layers.TCP{SYN: true, Seq: initial}, nil), segment(back, layers.TCP{SYN: true, ACK: true, Seq: initial}, nil))
	r.next[there], r.next[back] = initial+1, initial+1
}

// stream cuts what is sent in one go into segments.
func (r *recorder) stream(f flow, data []byte, size int) (frames [][]byte) {
	for len(data) > 0 {
		n := min(size, len(data))
		frames = append(frames, segment(f, layers.TCP{ACK: true, PSH: true, Seq: r.next[f]}, data[:n]))
		r.next[f] += uint32(n)
		data = data[n:]
	}
	return frames
}

func framed(p *wire.Packet) []byte { return wire.AppendFrame(nil, p.Append(nil)) }

// read returns the facts of the capture.
func (r *recorder) read(x *exchange) (Facts, error) {
	var all []Addresses
	for conn := range x.offers[Sender].ClientIDs {
		all = append(all, addresses(conn))
	}
	v := NewView(x.offers[Sender], x.offers[Receiver])
	err := Read(bytes.NewReader(r.file.Bytes()), all, limit, v)
	return v.Facts(), err
}

// However TCP cuts the packets, and whatever it sends again, the same comes out
// as from the packets themselves.
func TestReadPutsStreamsTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := drawExchange(t)
		r := newRecorder()
		for conn := range x.offers[Sender].ClientIDs {
			r.open(conn, rapid.Uint32().Draw(t, "initial sequence"))
		}
		for _, e := range x.events {
			frames := r.stream(flowFrom(e.conn, e.from), framed(&e.packet), rapid.IntRange(1, 40).Draw(t, "segment"))
			if rapid.Bool().Draw(t, "disorder") {
				frames = append(rapid.Permutation(frames).Draw(t, "order"), rapid.SampledFrom(frames).Draw(t, "sent again"))
			}
			r.record(frames...)
		}
		got, err := r.read(x)
		if err != nil {
			t.Fatal(err)
		}
		want := x.facts()
		got.LastedMS, want.LastedMS = 0, 0
		for i := range got.Connections {
			for _, d := range []*Direction{&got.Connections[i].FromSender, &got.Connections[i].FromReceiver} {
				d.TCPSegments, d.TCPBytes, d.TCPResentBytes = 0, 0, 0
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got  %+v\nwant %+v", got, want)
		}
	})
}

// small is an exchange of one packet of data over one connection.
func small() *exchange {
	ids := []string{"one"}
	offer := Offer{ids, 100, 10}
	hello := wire.Packet{Handshake: true, ClientIDs: ids, WindowBytes: 100, MTUBytes: 10}
	return &exchange{offers: [2]Offer{offer, offer}, payload: []byte("data"), events: []event{
		{0, Sender, hello},
		{0, Receiver, hello},
		{0, Sender, wire.Packet{Sequence: 1, Data: []byte("data")}},
		{0, Receiver, wire.Packet{AckStarts: []uint32{1}, BytesRead: 4}},
		{0, Sender, wire.Packet{Close: true}},
	}}
}

func (r *recorder) play(events ...event) {
	for _, e := range events {
		r.record(r.stream(flowFrom(e.conn, e.from), framed(&e.packet), 1000)...)
	}
}

func TestReadTellsWhatIsSentAgainByTCP(t *testing.T) {
	x, r := small(), newRecorder()
	r.open(0, 7)
	r.play(x.events[:2]...)
	again := r.stream(flowFrom(0, Sender), framed(&x.events[2].packet), 1000)
	r.record(again[0], again[0])
	r.play(x.events[3:]...)
	f, err := r.read(x)
	if err != nil || len(f.Violations) > 0 {
		t.Fatal(f.Violations, err)
	}
	d := f.Connections[0].FromSender
	once := len(framed(&x.events[2].packet))
	if d.TCPResentBytes != uint64(once) || d.ResentPackets != 0 || f.Connections[0].Opened != 1 {
		t.Errorf("%+v", d)
	}
}

// A sender dials until its receiver listens, from one port with another sequence each time.
func TestReadOfADialThatWasRefused(t *testing.T) {
	x, r := small(), newRecorder()
	there, back := flowFrom(0, Sender), flowFrom(0, Receiver)
	for initial := range uint32(2) {
		r.record(segment(there, layers.TCP{SYN: true, Seq: 1000 * initial}, nil))
		r.record(segment(back, layers.TCP{RST: true, ACK: true, Ack: 1000*initial + 1}, nil))
	}
	r.open(0, 70000)
	r.play(x.events...)
	f, err := r.read(x)
	if err != nil || len(f.Violations) > 0 || f.PayloadBytes != 4 || f.Connections[0].Opened != 1 {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestReadOfWhatIsWrong(t *testing.T) {
	stranger := flow{netip.MustParseAddrPort("198.18.9.1:5"), netip.MustParseAddrPort("198.18.9.2:6")}
	for name, c := range map[string]struct {
		make      func(x *exchange, r *recorder)
		violation string
		err       string
	}{
		"a hole in the capture": {make: func(x *exchange, r *recorder) {
			r.open(0, 7)
			r.play(x.events[:2]...)
			r.stream(flowFrom(0, Sender), framed(&x.events[2].packet), 1000)
			r.play(x.events[3:]...)
		}, err: "has a hole after"},
		"no beginning": {make: func(x *exchange, r *recorder) { r.play(x.events...) }, err: "has a hole after 0 bytes"},
		"nothing":      {make: func(x *exchange, r *recorder) {}, violation: "connection 1: 0 TCP connections, want 1"},
		"a second TCP connection": {make: func(x *exchange, r *recorder) {
			r.open(0, 7)
			r.open(0, 70000)
		}, violation: "connection 1: 2 TCP connections, want 1"},
		"a TCP connection of others": {make: func(x *exchange, r *recorder) {
			r.record(segment(stranger, layers.TCP{SYN: true}, nil))
		}, violation: "an unexpected TCP connection: 198.18.9.1:5 to 198.18.9.2:6"},
		"a length that no packet has": {make: func(x *exchange, r *recorder) {
			r.open(0, 7)
			r.record(r.stream(flowFrom(0, Receiver), []byte("\xff\xff\xff\xff"), 1000)...)
		}, violation: "connection 1: from the receiver: a frame of 4294967295 bytes"},
		"a packet that is none": {make: func(x *exchange, r *recorder) {
			r.open(0, 7)
			r.record(r.stream(flowFrom(0, Sender), wire.AppendFrame(nil, []byte{0xff}), 1000)...)
		}, violation: "connection 1: from the sender: ncp packet: malformed"},
	} {
		t.Run(name, func(t *testing.T) {
			x, r := small(), newRecorder()
			c.make(x, r)
			f, err := r.read(x)
			if c.err == "" && err != nil || !strings.Contains(fmt.Sprint(err), c.err) {
				t.Errorf("error %v, want %q", err, c.err)
			}
			if !strings.Contains(strings.Join(f.Violations, "\n"), c.violation) {
				t.Errorf("violations %q, want one with %q", f.Violations, c.violation)
			}
		})
	}
}

func TestReadRefusesShortFrames(t *testing.T) {
	x, r := small(), newRecorder()
	f := segment(flowFrom(0, Sender), layers.TCP{SYN: true}, nil)
	r.writer.WritePacket(gopacket.CaptureInfo{Timestamp: r.at, CaptureLength: len(f), Length: len(f) + 1}, f)
	if _, err := r.read(x); err == nil || !strings.Contains(err.Error(), "was captured to") {
		t.Error(err)
	}
}

// Whatever a file holds, it is read to an end.
func FuzzRead(f *testing.F) {
	x, r := small(), newRecorder()
	r.open(0, 7)
	r.play(x.events...)
	f.Add(r.file.Bytes())
	f.Fuzz(func(t *testing.T, file []byte) {
		v := NewView(x.offers[Sender], x.offers[Receiver])
		_ = Read(bytes.NewReader(file), []Addresses{addresses(0)}, limit, v)
		v.Facts()
	})
}
