package linkbench

import (
	"errors"
	"math"
	"net/netip"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ncp-testbed/internal/timing"
)

func loopback(t *testing.T) End {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to enter network namespaces")
	}
	return End{"/proc/self/ns/net", netip.MustParseAddr("127.0.0.1")}
}

func TestEchoOverLoopback(t *testing.T) {
	here := loopback(t)
	found, err := Echo(EchoOptions{From: here, To: here.Address, Count: 20, Spacing: time.Millisecond, Wait: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if found.Sent != 20 || len(found.RTTsMS) != 20 {
		t.Fatalf("%d of %d came back", len(found.RTTsMS), found.Sent)
	}
	for _, rtt := range found.RTTsMS {
		if rtt <= 0 {
			t.Errorf("round trip of %v ms", rtt)
		}
	}
}

func TestStreamOverLoopback(t *testing.T) {
	here := loopback(t)
	found, err := Send(StreamOptions{
		From: here, To: here, IPBytes: 1000, PPS: 2000, Duration: 600 * time.Millisecond,
		Window: 200 * time.Millisecond, Wait: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	if found.Sent < 600 || found.Received != found.Sent || len(found.Windows) < 1 {
		t.Errorf("%+v", found)
	}
	if found, err = Send(StreamOptions{From: here, To: here, IPBytes: 100, Packets: 50, Wait: time.Second}); err != nil {
		t.Fatal(err)
	}
	if found.Sent != 50 || found.Received != 50 {
		t.Errorf("%+v, want 50 packets", found)
	}
}

func TestWindowsAreExactHoweverFewPacketsTheyHave(t *testing.T) {
	var arrivals []timing.Unix
	for range 3 { // a bucket's burst
		arrivals = append(arrivals, 1e9)
	}
	const apart = 86e6
	for i := 1; i <= 60; i++ {
		arrivals = append(arrivals, timing.Unix(1e9+i*apart))
	}
	found := windows(arrivals, 1e9)
	if len(found) != 4 {
		t.Fatalf("%d windows, want 4", len(found))
	}
	for _, w := range found {
		if w.Seconds < 1 || math.Abs(w.Seconds/float64(w.Packets)-0.086) > 1e-12 {
			t.Errorf("%+v, want a packet each 86 ms", w)
		}
	}
	if windows(arrivals[:4], 1e9) != nil || windows(nil, 1e9) != nil {
		t.Error("a window of next to nothing")
	}
}

func TestRequestIsAValidEcho(t *testing.T) {
	packet, err := request(0x1234, 0x0102)
	sum := 0
	for i := 0; i < len(packet); i += 2 { // RFC 1071: one's complement over all, the checksum included
		sum += int(packet[i])<<8 | int(packet[i+1])
	}
	if sum%0xffff != 0 || sum == 0 || err != nil || len(packet) != 64 {
		t.Errorf("the sum over %d bytes is %#x (%v), want one's complement 0 over 64", len(packet), sum, err)
	}
	header := append(make([]byte, 19), 1)
	header[0] = 0x45
	if _, ok := parseReply(append(header, packet...), 0x1234); ok {
		t.Error("a request is taken for a reply")
	}
	packet[0] = 0 // a reply
	if sequence, ok := parseReply(append(header, packet...), 0x1234); !ok || sequence != 0x0102 {
		t.Errorf("sequence %#x, %v", sequence, ok)
	}
	if _, ok := parseReply(append(header, packet...), 0x4321); ok {
		t.Error("another's reply is taken for ours")
	}
}

func FuzzParseReply(f *testing.F) {
	f.Add([]byte{}, uint16(0))
	f.Add(append([]byte{0x45}, make([]byte, 40)...), uint16(0))
	f.Fuzz(func(t *testing.T, packet []byte, id uint16) {
		if sequence, ok := parseReply(packet, id); ok && (sequence < 0 || sequence > 0xffff || len(packet) < 8) {
			t.Errorf("sequence %d of %d bytes", sequence, len(packet))
		}
	})
}

func TestSpacingKeepsItsMean(t *testing.T) {
	s := newSpacing(0)
	s.mean = time.Millisecond
	begun := s.next.Add(-time.Hour) // all due, so that nothing sleeps
	s.next = begun
	for range 10_000 {
		s.wait()
	}
	if took := s.next.Sub(begun); took < 9800*time.Millisecond || took > 10200*time.Millisecond {
		t.Errorf("10,000 packets in %v, want about 10 s", took)
	}
}

// A socket that can't be read from any more is an error, and not a link that loses everything.
func TestASocketThatFailsIsNoLoss(t *testing.T) {
	fd, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := receive(fd, nil, nil); !errors.Is(err, unix.ENOTSOCK) {
		t.Errorf("%v, want %v", err, unix.ENOTSOCK)
	}
}

// What the kernel did not stamp has arrived, but measures neither a rate nor a delay.
func TestWhatTheKernelDidNotStampMeasuresNoTime(t *testing.T) {
	var arrived arrivals
	arrived.add(nil)
	if arrived.count != 1 || len(arrived.stamps) != 0 {
		t.Errorf("%+v, want one without a time", arrived)
	}
	from := [4]byte{198, 18, 0, 1}
	s := &sampler{delays: map[[4]byte]time.Duration{from: time.Millisecond}}
	if s.add(make([]byte, 64), nil, from); len(s.extra) != 0 {
		t.Errorf("extra delays of %v, want none", s.extra)
	}
}
