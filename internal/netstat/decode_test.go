package netstat

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// attribute builds an attribute with its padding, see netlink(7).
func attribute(kind uint16, value ...byte) []byte {
	out := binary.NativeEndian.AppendUint16(nil, uint16(4+len(value)))
	out = append(binary.NativeEndian.AppendUint16(out, kind), value...)
	return append(out, make([]byte, (4-len(value)%4)%4)...)
}

func words(values ...uint32) (out []byte) {
	for _, v := range values {
		out = binary.NativeEndian.AppendUint32(out, v)
	}
	return out
}

func wide(v uint64) []byte { return binary.NativeEndian.AppendUint64(nil, v) }

func fraction(p float64) uint32 { return uint32(p * math.MaxUint32) }

// netemMessage is a netem discipline with bursty loss as the kernel tells it.
func netemMessage() []byte {
	bursty := attribute(netemGilbertElliott, words(fraction(0.1), fraction(0.3), fraction(0.2), fraction(0.01))...)
	options := slices.Concat(
		words(0, 1000, fraction(0.5), 0, 0, 0), // latency, limit, loss, gap, duplicate, jitter
		attribute(netemDelay64, wide(50_000_000)...),
		attribute(netemLoss|unix.NLA_F_NESTED, bursty...),
	)
	stats := slices.Concat(
		attribute(statsBasic, slices.Concat(wide(123456), words(100, 0))...),
		attribute(statsQueue, words(3, 3219, 7, 1, 9)...),
		attribute(statsPackets64, wide(5_000_000_000)...),
	)
	return slices.Concat(
		words(0, 4, 1<<16, root, 1), // family, interface, handle, parent, info
		attribute(unix.TCA_KIND, []byte("netem\x00")...),
		attribute(unix.TCA_OPTIONS, options...),
		attribute(unix.TCA_STATS2, stats...),
	)
}

func TestDecodeQueue(t *testing.T) {
	q, err := decodeQueue(netemMessage())
	if err != nil {
		t.Fatal(err)
	}
	// Bad state for 0.1 / (0.1 + 0.3) of the packets, with a loss of 0.8; the other with 0.01.
	loss := 0.25*0.8 + 0.75*0.01
	if q.Netem == nil || q.Netem.DelayMS != 50 || math.Abs(q.Netem.Loss-loss) > 1e-6 {
		t.Errorf("netem %+v, want 50 ms and a loss of %v", q.Netem, loss)
	}
	q.Netem, q.RateBPS = nil, 0
	want := Queue{
		Interface: 4, Kind: "netem", Handle: "1:", Root: true, Bytes: 123456, Packets: 5_000_000_000,
		Drops: 7, Overlimits: 9, Requeues: 1, BacklogBytes: 3219, BacklogPackets: 3,
	}
	if q != want {
		t.Errorf("%+v, want %+v", q, want)
	}
}

// HTB tells of a class below nothing but itself that its parent is the root.
func TestAClassIsNoRoot(t *testing.T) {
	q, err := decodeQueue(slices.Concat(words(0, 4, 1<<16|1, root, 0), attribute(unix.TCA_KIND, []byte("htb\x00")...)))
	if err != nil || q.Root || q.Handle != "1:1" {
		t.Errorf("%+v, %v; want a class that is not the root", q, err)
	}
}

func TestRates(t *testing.T) {
	ratespec := words(0, 0, 1_000_000) // its rate in bytes per second is the third word
	for _, c := range []struct {
		kind string
		a    []byte
		want float64
	}{
		{"htb", attribute(htbParameters, ratespec...), 8e6},
		{"tbf", attribute(tbfParameters, ratespec...), 8e6},
		{"htb", slices.Concat(attribute(htbParameters, words(0, 0, math.MaxUint32)...), attribute(htbRate64, wide(1e10)...)), 8e10},
		{"tbf", slices.Concat(attribute(tbfParameters, words(0, 0, math.MaxUint32)...), attribute(tbfRate64, wide(1e10)...)), 8e10},
	} {
		q := Queue{Kind: c.kind, RateBPS: math.NaN()}
		if err := q.readOptions(c.a); err != nil || q.RateBPS != c.want {
			t.Errorf("%s: %v bit/s, %v; want %v", c.kind, q.RateBPS, err, c.want)
		}
	}
	q := Queue{Kind: "htb", RateBPS: math.NaN()}
	if err := q.readOptions(attribute(2, words(1, 2, 3)...)); err != nil || !math.IsNaN(q.RateBPS) {
		t.Errorf("a discipline of HTB has no rate itself: %v, %v", q.RateBPS, err)
	}
}

// socketMessage is a connected TCP socket with an older, shorter TCP_INFO.
func socketMessage() []byte {
	body := make([]byte, sizeofSocketAnswer)
	body[0], body[1] = unix.AF_INET, 1
	binary.BigEndian.PutUint16(body[4:], 5201)
	binary.BigEndian.PutUint16(body[6:], 40000)
	copy(body[8:], []byte{198, 18, 1, 2})
	copy(body[24:], []byte{198, 18, 1, 1})
	copy(body[44:], wide(77))
	copy(body[56:], words(11, 22))
	info := make([]byte, 104)
	copy(info[8:], words(204000))
	copy(info[80:], words(10)) // tcpi_snd_cwnd
	return slices.Concat(body,
		attribute(diagMemory, words(1, 2, 3, 4, 5, 6, 7, 8, 9)...),
		attribute(diagInfo, info...),
		attribute(diagCongestionControl, []byte("cubic\x00")...))
}

func TestDecodeSocket(t *testing.T) {
	s, err := decodeSocket(socketMessage())
	if err != nil {
		t.Fatal(err)
	}
	if s.Local.String() != "198.18.1.2:5201" || s.Remote.String() != "198.18.1.1:40000" || s.Cookie != 77 {
		t.Errorf("is %v ← %v, %d", s.Local, s.Remote, s.Cookie)
	}
	if s.ReceiveQueueBytes != 11 || s.SendQueueBytes != 22 || s.ReceiveBufferBytes != 2 || s.SendBufferBytes != 4 || s.Drops != 9 {
		t.Errorf("queues %+v", s)
	}
	if s.CongestionControl != "cubic" || s.TCP == nil || s.TCP.Rto != 204000 || s.TCP.Snd_cwnd != 10 || s.TCP.Snd_wnd != 0 {
		t.Errorf("TCP %s %+v", s.CongestionControl, s.TCP)
	}
}

func FuzzDecodeQueue(f *testing.F) {
	f.Add(netemMessage())
	f.Fuzz(func(t *testing.T, body []byte) {
		q, err := decodeQueue(body)
		if err == nil && q.Netem != nil && !(q.Netem.Loss >= -1e-9 && q.Netem.Loss <= 1+1e-9) {
			t.Errorf("loss %v", q.Netem.Loss)
		}
		if err == nil && q.RateBPS <= 0 {
			t.Errorf("rate %v", q.RateBPS)
		}
	})
}

func FuzzDecodeInterface(f *testing.F) {
	f.Add(slices.Concat(words(0, 4, 0, 0), attribute(unix.IFLA_IFNAME, []byte("eth0\x00")...)))
	f.Fuzz(func(t *testing.T, body []byte) {
		if i, err := decodeInterface(body); err == nil && len(i.Name) > len(body) {
			t.Errorf("%+v", i)
		}
	})
}

func FuzzDecodeSocket(f *testing.F) {
	f.Add(socketMessage())
	f.Fuzz(func(t *testing.T, body []byte) {
		s, err := decodeSocket(body)
		if err == nil && !s.Local.IsValid() {
			t.Errorf("%+v", s)
		}
	})
}
