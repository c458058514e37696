package faces

import (
	"bytes"
	"context"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"ncp-testbed/ndn-agent/lp"
	"ncp-testbed/ndn-agent/marking"
	"ncp-testbed/ndn-agent/packet"
	"ncp-testbed/ndn-agent/tlv"

	"golang.org/x/sys/unix"
)

// post is a node that keeps what it gets.
type post struct {
	mu   sync.Mutex
	got  []lp.Packet
	from []int
	down []int
	come chan struct{} // a packet has
}

func newPost() *post { return &post{come: make(chan struct{}, 1<<16)} }

func (p *post) Receive(_ time.Duration, face int, in lp.Packet) {
	p.mu.Lock()
	defer p.mu.Unlock()
	in.Network = bytes.Clone(in.Network)
	p.got, p.from = append(p.got, in), append(p.from, face)
	p.come <- struct{}{}
}
func (p *post) Expire(time.Duration) {}
func (p *post) FaceDown(face int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = append(p.down, face)
}

// await returns the nth packet, from 0, and the face that it came from.
func (p *post) await(t *testing.T, n int) (lp.Packet, int) {
	t.Helper()
	for {
		p.mu.Lock()
		if len(p.got) > n {
			defer p.mu.Unlock()
			return p.got[n], p.from[n]
		}
		p.mu.Unlock()
		select {
		case <-p.come:
		case <-time.After(time.Minute):
			t.Fatalf("packet %d did not come", n)
		}
	}
}

// data is a packet of about so many bytes.
func data(size int, fill byte) []byte {
	return tlv.Append(nil, packet.TypeData, bytes.Repeat([]byte{fill}, size))
}

func start(t *testing.T) (*Engine, *post) {
	t.Helper()
	e, p := New(context.Background(), nil), newPost()
	e.Start(p)
	t.Cleanup(e.Close)
	return e, p
}

func send(e *Engine, face int, packets ...lp.Packet) {
	e.Do(func(time.Duration) {
		for _, p := range packets {
			e.Send(face, p)
		}
	})
}

var anywhere = netip.MustParseAddrPort("127.0.0.1:0")

// Packets of all sizes, with their headers, there and back over both
// transports; a listener's peer gets a face of its own.
func TestThereAndBack(t *testing.T) {
	for _, transport := range []string{UDP, TCP} {
		t.Run(transport, func(t *testing.T) {
			server, taken := start(t)
			server.Open(nil)
			at, err := server.Listen(FaceConfig{Transport: transport, Local: anywhere, MTU: 1400})
			if err != nil {
				t.Fatal(err)
			}
			for peer := range 3 {
				client, given := start(t)
				if err := client.Open([]FaceConfig{{Name: "server", Transport: transport, Remote: at, MTU: 1400}})(); err != nil {
					t.Fatal(err)
				}
				out := lp.Packet{Network: data(5000, byte(peer)), Mark: 1, PitToken: "token"}
				send(client, 0, out, lp.Packet{Network: data(10, byte(peer))})
				first, face := taken.await(t, 2*peer)
				if !bytes.Equal(first.Network, out.Network) || first.Mark != 1 || first.PitToken != "token" || face != peer {
					t.Errorf("peer %d: %d bytes on face %d, mark %d", peer, len(first.Network), face, first.Mark)
				}
				taken.await(t, 2*peer+1)
				send(server, face, out)
				if back, _ := given.await(t, 0); !bytes.Equal(back.Network, out.Network) {
					t.Errorf("%d bytes came back", len(back.Network))
				}
			}
			if states := server.States(); len(states) != 3 || states[2].Counters.InData != 2 || states[2].Counters.InMarks != 1 || states[2].Counters.OutData != 1 {
				t.Errorf("%+v", states)
			}
		})
	}
}

// A TCP peer that goes leaves no face behind; one that is dialled is dialled again.
func TestConnectionsComeAndGo(t *testing.T) {
	server, taken := start(t)
	server.Open(nil)
	at, err := server.Listen(FaceConfig{Transport: TCP, Local: anywhere})
	if err != nil {
		t.Fatal(err)
	}
	client, _ := start(t)
	if err := client.Open([]FaceConfig{{Name: "server", Transport: TCP, Remote: at}})(); err != nil {
		t.Fatal(err)
	}
	send(client, 0, lp.Packet{Network: data(10, 1)})
	taken.await(t, 0)
	server.Do(func(time.Duration) { server.faces[0].link.close() })
	for n := 1; ; n++ { // what is sent meanwhile is dropped
		send(client, 0, lp.Packet{Network: data(10, 2)})
		time.Sleep(10 * time.Millisecond)
		taken.mu.Lock()
		again := len(taken.got) > 1
		taken.mu.Unlock()
		if again {
			break
		}
		if n > 6000 {
			t.Fatal("the connection was not made again")
		}
	}
	states := server.States()
	for end := time.Now().Add(time.Minute); len(states) != 1 && time.Now().Before(end); states = server.States() {
		time.Sleep(10 * time.Millisecond)
	}
	if len(states) != 1 || states[0].Name != "accepted-2" {
		t.Errorf("%+v", states)
	}
	taken.mu.Lock()
	defer taken.mu.Unlock()
	if len(taken.down) == 0 {
		t.Error("the node was not told")
	}
}

// blocked is a TCP peer that does not read.
func blocked(t *testing.T) (*Engine, net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	e, _ := start(t)
	c := FaceConfig{
		Name: "p", Transport: TCP, Remote: listener.Addr().(*net.TCPAddr).AddrPort(), SendBufferBytes: 64 << 10, SendQueueBytes: 1 << 20,
	}
	c.Marking, _ = marking.Default(marking.Hackathon)
	wait := e.Open([]FaceConfig{c})
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.(*net.TCPConn).SetReadBuffer(16 << 10)
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	return e, conn
}

// TCP queues what its socket does not take, marks it, and drops at the bound;
// what is queued comes, whole and in order, when the peer reads.
func TestTCPQueues(t *testing.T) {
	e, conn := blocked(t)
	const size = 4096
	packets := 0
	for ; e.States()[0].Counters.Drops == 0; packets++ {
		send(e, 0, lp.Packet{Network: data(size, byte(packets))})
	}
	s := e.States()[0]
	if s.Queue.OwnBytes > 1<<20 || s.Queue.OwnBytes < 1<<19 || s.Queue.OwnPackets < (1<<19)/(size+20) || s.Queue.KernelBytes == 0 {
		t.Errorf("%+v", s.Queue)
	}
	if unmarked := uint64(packets) - s.Counters.MarksSet; s.Counters.MarksSet < 200 || unmarked < 10 {
		t.Errorf("%d of %d packets marked", s.Counters.MarksSet, packets)
	}
	if s.Counters.BacklogMax < 1<<20-2*size || s.Counters.SendQueueMax < 200 {
		t.Errorf("%+v", s.Counters)
	}
	reader := &Face{engine: New(context.Background(), nil)}
	taken := newPost()
	reader.engine.node = taken
	go reader.readTCP(conn)
	for n := range packets - 1 {
		if p, _ := taken.await(t, n); !bytes.Equal(p.Network, data(size, byte(n))) {
			t.Fatalf("packet %d is another", n)
		}
	}
}

// A UDP socket's queue marks: here one that is corked, so that it sends nothing.
func TestUDPBacklogMarks(t *testing.T) {
	sink, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer sink.Close()
	e, _ := start(t)
	c := FaceConfig{Name: "p", Transport: UDP, Remote: sink.LocalAddr().(*net.UDPAddr).AddrPort()}
	c.Marking = marking.Config{Mode: marking.Hackathon, ThresholdBytes: 10_000}
	if err := e.Open([]FaceConfig{c})(); err != nil {
		t.Fatal(err)
	}
	e.faces[0].link.(*udpTransport).raw.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_UDP, unix.UDP_CORK, 1)
	})
	if err != nil {
		t.Fatal(err)
	}
	const packets, size = 30, 2000
	for range packets {
		send(e, 0, lp.Packet{Network: data(size, 1)})
	}
	counters := e.States()[0].Counters
	if counters.MarksSet == 0 || counters.MarksSet == packets || counters.BacklogMax <= 10_000 {
		t.Errorf("%+v", counters)
	}
}

// full is a socket that has room for some link packets only.
type full struct{ room, tried int }

func (f *full) send([]byte) error {
	if f.tried++; f.tried > f.room {
		return errFull
	}
	return nil
}
func (f *full) queue() marking.Queue { return marking.Queue{} }
func (f *full) close()               {}

// A packet is dropped with its first fragment that has no room: the peer could
// not put the others together.
func TestDrops(t *testing.T) {
	e, _ := start(t)
	f := e.addFace(FaceConfig{Transport: UDP, MTU: 1400})
	send(e, 0, lp.Packet{Network: data(10, 1)})
	socket := &full{room: 6}
	f.up(socket)
	send(e, 0, lp.Packet{Network: data(5000, 1)}, lp.Packet{Network: data(5000, 1)}, lp.Packet{Network: data(5000, 1)})
	if c := e.States()[0].Counters; c.Drops != 3 || socket.tried != 8 || c.OutBytes < 5000 || c.OutBytes > 8400 {
		t.Errorf("%+v after %d attempts", c, socket.tried)
	}
}

// Nobody listens at first, so ICMP messages come back; nothing is said, and the
// first packet after the peer is there arrives.
func TestRefusedUDP(t *testing.T) {
	taker, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := taker.LocalAddr().(*net.UDPAddr).AddrPort()
	taker.Close()
	e, _ := start(t)
	if err := e.Open([]FaceConfig{{Name: "p", Transport: UDP, Remote: at}})(); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		send(e, 0, lp.Packet{Network: data(100, 1)})
		time.Sleep(time.Millisecond)
	}
	server, taken := start(t)
	server.Open(nil)
	if _, err := server.Listen(FaceConfig{Transport: UDP, Local: at}); err != nil {
		t.Fatal(err)
	}
	send(e, 0, lp.Packet{Network: data(100, 2)})
	if p, _ := taken.await(t, 0); !bytes.Equal(p.Network, data(100, 2)) {
		t.Error("another packet came")
	}
	select {
	case err := <-e.Failure():
		t.Error(err)
	default:
	}
}

// What is no link packet ends a stream, and is only counted on UDP.
func TestGarbage(t *testing.T) {
	for _, transport := range []string{UDP, TCP} {
		server, taken := start(t)
		server.Open(nil)
		at, err := server.Listen(FaceConfig{Transport: transport, Local: anywhere})
		if err != nil {
			t.Fatal(err)
		}
		conn, err := net.Dial(transport, at.String())
		if err != nil {
			t.Fatal(err)
		}
		conn.Write(data(10, 1))
		taken.await(t, 0)
		conn.Write([]byte{0, 1, 2, 3})
		if transport == TCP {
			if n, err := conn.Read(make([]byte, 1)); n != 0 || err == nil {
				t.Errorf("%d bytes, %v", n, err)
			}
		} else {
			conn.Write(data(10, 2))
			taken.await(t, 1)
			if s := server.States(); s[0].Counters.Errors != 1 {
				t.Errorf("%+v", s)
			}
		}
		conn.Close()
	}
}

// However many peers come, the faces are bounded.
func TestPeersAreBounded(t *testing.T) {
	server, taken := start(t)
	server.Open(nil)
	at, err := server.Listen(FaceConfig{Transport: UDP, Local: anywhere})
	if err != nil {
		t.Fatal(err)
	}
	for peer := range maxAccepted + 10 {
		conn, err := net.Dial("udp", at.String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.Write(data(10, byte(peer)))
		if peer < maxAccepted {
			taken.await(t, peer)
		}
	}
	if faces := len(server.States()); faces != maxAccepted {
		t.Errorf("%d faces", faces)
	}
	server.Close() // what came has been looked at
	if faces := len(server.faces); faces > maxAccepted {
		t.Errorf("%d faces", faces)
	}
}
