package fetch

import (
	"bytes"
	"container/heap"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"ncp-testbed/ndn-agent/lp"
	"ncp-testbed/ndn-agent/packet"
	"ncp-testbed/ndn-agent/produce"
)

// arrival is a packet on its way to the fetcher.
type arrival struct {
	at     time.Duration
	number int // to keep the order of what arrives at once
	packet lp.Packet
}

type arrivals []arrival

func (a arrivals) Len() int { return len(a) }
func (a arrivals) Less(i, j int) bool {
	return a[i].at < a[j].at || a[i].at == a[j].at && a[i].number < a[j].number
}
func (a arrivals) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *arrivals) Push(x any)   { *a = append(*a, x.(arrival)) }
func (a *arrivals) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}

// path is a producer behind a bottleneck in virtual time: a rate, a queue, a
// delay, and a rule for marks.
type path struct {
	t        *testing.T
	now      time.Duration
	delay    time.Duration // both ways together
	perData  time.Duration // at the bottleneck; 0: no limit
	queue    int           // packets; 0: no limit
	markFrom int           // packets in the queue from which on Data is marked; 0: never
	lose     func(segment uint64, asked int) bool
	mark     func(segment uint64) bool

	content  []byte
	producer *produce.Producer
	fetcher  *Fetcher
	got      bytes.Buffer
	log      []Arrival
	onTheWay arrivals
	number   int
	busy     time.Duration // until when the bottleneck works
	drops    int
	asked    map[packet.Name]int
	segment  uint64 // that is being answered
}

func newPath(t *testing.T, bytes, segmentBytes int) *path {
	p := &path{t: t, delay: 10 * time.Millisecond, asked: map[packet.Name]int{}}
	for i := range bytes {
		p.content = append(p.content, byte(i*i>>3))
	}
	return p.withSegments(segmentBytes)
}

func (p *path) withSegments(size int) *path {
	var err error
	p.producer, err = produce.New(object, bytes.NewReader(p.content), int64(len(p.content)), size, time.Second, p.answer)
	if err != nil {
		p.t.Fatal(err)
	}
	return p
}

var object = packet.Name("").Append(packet.ComponentGeneric, []byte("o")).AppendNumber(packet.ComponentVersion, 1)

// ask carries an Interest to the producer.
func (p *path) ask(out lp.Packet) {
	i, err := packet.DecodeInterest(out.Network)
	if err != nil {
		p.t.Fatal(err)
	}
	p.asked[i.Name]++
	last, _, _ := i.Name.Last()
	segment, _ := last.Number(packet.ComponentSegment)
	if p.lose != nil && p.lose(segment, p.asked[i.Name]) {
		return
	}
	p.segment = segment
	p.producer.Receive(out)
}

// answer carries Data back.
func (p *path) answer(out lp.Packet) {
	waits := 0
	if p.perData > 0 {
		waits = int(max(0, p.busy-p.now) / p.perData)
	}
	if p.queue > 0 && waits >= p.queue {
		p.drops++
		return
	}
	p.busy = max(p.busy, p.now) + p.perData
	if p.markFrom > 0 && waits >= p.markFrom || p.mark != nil && p.mark(p.segment) {
		out.Mark = 1
	}
	p.deliver(p.busy+p.delay, out)
}

func (p *path) deliver(at time.Duration, out lp.Packet) {
	p.number++
	heap.Push(&p.onTheWay, arrival{at, p.number, out})
}

// run fetches until the end, or until a time.
func (p *path) run(c Config, until time.Duration) error {
	p.fetcher = New(c, p.ask, func(content []byte) error {
		_, err := p.got.Write(content)
		return err
	})
	p.fetcher.Observe = func(a Arrival) { p.log = append(p.log, a) }
	p.fetcher.Start(0)
	for p.now < until {
		if over, err := p.fetcher.Done(); over {
			return err
		}
		p.now += time.Millisecond
		for len(p.onTheWay) > 0 && p.onTheWay[0].at <= p.now {
			a := heap.Pop(&p.onTheWay).(arrival)
			before := p.now
			p.now = a.at
			p.fetcher.Receive(a.at, a.packet)
			p.now = before
		}
		p.fetcher.Expire(p.now)
	}
	return errors.New("not done in time")
}

func config() Config { return Default(object) }

func (p *path) complete(err error) Stats {
	p.t.Helper()
	s := p.fetcher.Stats()
	if err != nil || !bytes.Equal(p.got.Bytes(), p.content) || s.Bytes != uint64(len(p.content)) || s.InFlight != 0 {
		p.t.Fatalf("%v, %d of %d bytes, equal: %t, %+v", err, p.got.Len(), len(p.content), bytes.Equal(p.got.Bytes(), p.content), s)
	}
	return s
}

func TestFetchesWhatWasOffered(t *testing.T) {
	for _, algorithm := range []string{AIMD, Cubic} {
		for _, size := range []int{1, 1000, 1001, 200_000} {
			p := newPath(t, size, 1000)
			c := config()
			c.Algorithm = algorithm
			s := p.complete(p.run(c, time.Minute))
			if want := uint64((size + 999) / 1000); s.Segments != want || s.Retransmissions+s.Timeouts+s.Cuts+s.Marks != 0 {
				t.Errorf("%s, %d bytes: %+v", algorithm, size, s)
			}
		}
	}
}

func TestDiscovery(t *testing.T) {
	p := newPath(t, 50_000, 1000)
	c := config()
	_, c.Name, _ = object.Last()
	c.Discover = true
	p.complete(p.run(c, time.Minute))
	if len(p.asked) != 50 || p.asked[c.Name] != 1 {
		t.Errorf("asked for %d names, %d times for %s", len(p.asked), p.asked[c.Name], c.Name)
	}
}

// A window of 1, 2, 4 … in slow start; one segment more per round trip after it.
func TestWindowGrowth(t *testing.T) {
	p := newPath(t, 400_000, 1000)
	p.mark = func(segment uint64) bool { return segment == 40 }
	s := p.complete(p.run(config(), time.Minute))
	if s.Cuts != 1 || s.Marks != 1 || p.log[40].Cwnd != (p.log[39].Cwnd)/2 {
		t.Fatalf("%+v, a window of %v after %v", s, p.log[40].Cwnd, p.log[39].Cwnd)
	}
	for i, a := range p.log[:30] {
		if a.Cwnd != float64(i+2) {
			t.Fatalf("segment %d: window %v in slow start, want %d", i, a.Cwnd, i+2)
		}
	}
	after := p.log[41:]
	rounds := (after[len(after)-1].At - after[0].At).Seconds() / p.delay.Seconds()
	if grown := after[len(after)-1].Cwnd - after[0].Cwnd; math.Abs(grown-rounds) > 0.2*rounds+2 {
		t.Errorf("the window grew by %v in %v round trips", grown, rounds)
	}
}

// Many losses in one round trip are one cut; each lost segment is asked for
// again, after 200 ms.
func TestOneCutPerRoundTrip(t *testing.T) {
	p := newPath(t, 300_000, 1000)
	p.lose = func(segment uint64, asked int) bool { return segment >= 100 && segment < 120 && asked == 1 }
	s := p.complete(p.run(config(), time.Minute))
	if s.Cuts != 1 || s.Retransmissions != 20 || s.Timeouts != 20 {
		t.Errorf("%+v", s)
	}
	for _, a := range p.log {
		if a.Retransmitted != (a.Segment >= 100 && a.Segment < 120) || a.Retransmitted == (a.RTT > 0) {
			t.Errorf("%+v", a)
		}
	}
}

// Marks keep the queue short where they are heeded; where they are not, the
// queue is as long as it can be.
func TestMarksAreHeeded(t *testing.T) {
	for _, algorithm := range []string{AIMD, Cubic} {
		fetch := func(ignore bool) (rttMS float64, s Stats, took time.Duration) {
			p := newPath(t, 4_000_000, 1000)
			p.perData, p.queue, p.markFrom = 500*time.Microsecond, 200, 20
			c := config()
			c.Algorithm, c.IgnoreMarks = algorithm, ignore
			s = p.complete(p.run(c, time.Minute))
			n := 0
			for _, a := range p.log {
				if a.RTT > 0 && a.At > 500*time.Millisecond {
					rttMS += a.RTT.Seconds() * 1000
					n++
				}
			}
			return rttMS / float64(n), s, p.log[len(p.log)-1].At
		}
		heeding, heeded, took := fetch(false)
		ignoring, ignored, longer := fetch(true)
		if heeded.Cuts == 0 || heeded.Retransmissions != 0 || heeding > 30 {
			t.Errorf("%s with reaction: %v ms, %+v", algorithm, heeding, heeded)
		}
		if ignored.Marks < ignored.Segments/2 || ignored.Retransmissions == 0 || ignoring < 2*heeding {
			t.Errorf("%s without: %v ms, %+v", algorithm, ignoring, ignored)
		}
		if took > longer*4/3 {
			t.Errorf("%s: %v with reaction, %v without", algorithm, took, longer)
		}
	}
}

func TestTimeOutsBackOff(t *testing.T) {
	p := newPath(t, 10_000, 1000)
	p.lose = func(uint64, int) bool { return true }
	c := config()
	c.MaxRetries = 3
	err := p.run(c, time.Minute)
	if err == nil || !strings.Contains(err.Error(), "/o/v=1/seg=0 did not come, requested 4 times") {
		t.Error(err)
	}
	// 1 + 2 + 4 + 8 s.
	if p.now < 15*time.Second || p.now > 15*time.Second+10*time.Millisecond {
		t.Errorf("gave up after %v", p.now)
	}
}

// An outage of 5 s in mid-transfer is survived.
func TestOutage(t *testing.T) {
	p := newPath(t, 2_000_000, 1000)
	p.perData, p.queue = 500*time.Microsecond, 50
	p.lose = func(uint64, int) bool { return p.now > 300*time.Millisecond && p.now < 5300*time.Millisecond }
	p.complete(p.run(config(), time.Minute))
}

func TestNacksAreNamed(t *testing.T) {
	p := newPath(t, 10_000, 1000)
	c := config()
	c.MaxRetries = 1
	p.lose = func(segment uint64, _ int) bool {
		i := packet.Interest{Name: object.AppendNumber(packet.ComponentSegment, segment), HopLimit: -1}
		p.deliver(p.now+p.delay, lp.Packet{Network: i.Append(nil), IsNack: true, Nack: lp.NackNoRoute})
		return true
	}
	if err := p.run(c, time.Minute); err == nil || !strings.Contains(err.Error(), "no route") || p.fetcher.Stats().Nacks < 2 {
		t.Errorf("%v, %+v", err, p.fetcher.Stats())
	}
}

// Data that is not what it says, or of something else, is refused and changes nothing.
func TestForeignData(t *testing.T) {
	p := newPath(t, 3000, 1000)
	p.lose = func(segment uint64, asked int) bool {
		if asked > 1 {
			return false
		}
		d := packet.Data{Name: object.AppendNumber(packet.ComponentSegment, segment), Content: []byte("false")}
		forged := d.Append(nil)
		forged[len(forged)-1] ^= 1
		p.deliver(p.now+p.delay, lp.Packet{Network: forged})
		other := packet.Data{Name: object.Append(packet.ComponentGeneric, []byte("x")), Content: []byte("other")}
		p.deliver(p.now+p.delay, lp.Packet{Network: other.Append(nil)})
		p.deliver(p.now+p.delay, lp.Packet{Network: []byte{6, 3, 1}})
		p.deliver(p.now+p.delay, lp.Packet{})
		return true
	}
	if s := p.complete(p.run(config(), time.Minute)); s.Refused < 9 || s.Retransmissions != 3 {
		t.Errorf("%+v", s)
	}
}

// FuzzReceive lets anything come while an object is fetched.
func FuzzReceive(f *testing.F) {
	d := packet.Data{Name: object.AppendNumber(packet.ComponentSegment, 3), FinalBlock: &packet.Component{Type: packet.ComponentSegment, Value: "\x01"}}
	f.Add(d.Append(nil), d.Append(nil), false)
	f.Fuzz(func(t *testing.T, first, second []byte, nack bool) {
		c := config()
		c.InitialCwnd = 8
		fetcher := New(c, func(lp.Packet) {}, func([]byte) error { return nil })
		fetcher.Start(0)
		fetcher.Receive(1, lp.Packet{Network: first})
		fetcher.Expire(time.Minute)
		fetcher.Receive(time.Minute, lp.Packet{Network: second, IsNack: nack})
		fetcher.Receive(time.Minute, lp.Packet{Network: first})
		for now := time.Minute; now < 100*time.Hour; now += time.Minute {
			fetcher.Expire(now)
			if over, _ := fetcher.Done(); over {
				return
			}
			if fetcher.inFlight() < 0 || fetcher.inFlight() > 1000 {
				t.Fatalf("%d in flight", fetcher.inFlight())
			}
		}
		t.Error("the fetch never ends")
	})
}
