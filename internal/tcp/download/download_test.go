package download

import (
	"bytes"
	"context"
	"net"
	"strings"
	"testing"
	"time"
)

const timeout = 30 * time.Second

// transfer runs both ends over the loopback interface.
func transfer(t *testing.T, s Server, g Client) (Served, Got, error, error) {
	t.Helper()
	s.Listen, s.Timeout, g.Timeout = "127.0.0.1:0", timeout, timeout
	type outcome struct {
		served Served
		err    error
	}
	at, done := make(chan net.Addr, 1), make(chan outcome, 1)
	go func() {
		served, err := s.Run(t.Context(), func(a net.Addr) { at <- a })
		done <- outcome{served, err}
	}()
	g.Server, g.From = (<-at).String(), "127.0.0.1"
	got, err := g.Run(t.Context())
	end := <-done
	return end.served, got, end.err, err
}

func TestDownload(t *testing.T) {
	for _, size := range []int{1, 1460, 1 << 20, 9<<20 + 1} {
		served, got, err, clientErr := transfer(t, Server{Bytes: size, Seed: 3}, Client{Bytes: size})
		if err != nil || clientErr != nil {
			t.Fatalf("%d B: server %v, client %v", size, err, clientErr)
		}
		if got.Bytes != size || got.SHA256 != served.SHA256 || len(got.SHA256) != 64 {
			t.Errorf("%d B: got %d with %s, sent %s", size, got.Bytes, got.SHA256, served.SHA256)
		}
		// The queue is empty only when all was acknowledged, so not before the last write.
		if served.AcknowledgedMS < served.WrittenMS || served.FinishedUnixNS <= served.StartedUnixNS {
			t.Errorf("%d B: acknowledged %v ms, written %v ms", size, served.AcknowledgedMS, served.WrittenMS)
		}
		if served.SegmentsSent == 0 || served.OfferedWindowBytes == 0 || served.CongestionControl == "" {
			t.Errorf("%d B: nothing of the connection: %+v", size, served)
		}
	}
}

func TestContentDependsOnSeedAlone(t *testing.T) {
	a, sum := object(5000, 1)
	b, again := object(5000, 1)
	c, other := object(5000, 2)
	if len(a) != 5000 || !bytes.Equal(a, b) || sum != again || bytes.Equal(a, c) || sum == other {
		t.Fatal("the same seed has to give the same bytes, another one others")
	}
}

func TestReceiveBufferIsHad(t *testing.T) {
	const asked = 100_000
	_, got, err, clientErr := transfer(t, Server{Bytes: 1000}, Client{Bytes: 1000, ReceiveBufferBytes: asked})
	if err != nil || clientErr != nil {
		t.Fatal(err, clientErr)
	}
	if got.ReceiveBufferBytes != 2*asked {
		t.Errorf("SO_RCVBUF is %d, asked %d, which Linux doubles", got.ReceiveBufferBytes, asked)
	}
}

func TestCongestionControlThatIsNotThere(t *testing.T) {
	l := Server{Listen: "127.0.0.1:0", Bytes: 1, CongestionControl: "no-such-one", Timeout: timeout}
	_, err := l.Run(t.Context(), func(net.Addr) { t.Error("it listens") })
	if reason, ok := IsUnsupported(err); !ok || !strings.Contains(reason, "no-such-one") {
		t.Fatalf("%v is not told as unsupported, with the name", err)
	}
}

func TestOtherSizeIsRefused(t *testing.T) {
	_, got, err, clientErr := transfer(t, Server{Bytes: 1000}, Client{Bytes: 999})
	if err == nil || !strings.Contains(err.Error(), "999") || clientErr == nil || got.Bytes != 0 {
		t.Fatalf("server %v, client %v, %d B", err, clientErr, got.Bytes)
	}
}

func TestServerGivesUpInTime(t *testing.T) {
	s := Server{Listen: "127.0.0.1:0", Bytes: 1, Timeout: 20 * time.Millisecond}
	if _, err := s.Run(t.Context(), func(net.Addr) {}); err == nil {
		t.Fatal("nobody came, and that is no error")
	}
}

// A client that stops reading leaves the queue full; the server has to come to its end all the same.
func TestClientThatDoesNotRead(t *testing.T) {
	at, done := make(chan net.Addr, 1), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		_, err := Server{Listen: "127.0.0.1:0", Bytes: 64 << 20, Timeout: 300 * time.Millisecond}.Run(ctx, func(a net.Addr) { at <- a })
		done <- err
	}()
	c, err := net.Dial("tcp4", (<-at).String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := writeRequest(c, 64<<20); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err == nil {
		t.Fatal("64 MiB that nobody reads were acknowledged")
	}
}

func TestInitialWindow(t *testing.T) {
	found, err := ProbeInitialWindow(t.Context(), ProbeBufferBytes)
	if reason, ok := IsUnsupported(err); ok {
		t.Skip(reason)
	}
	if err != nil {
		t.Fatal(err)
	}
	if found.OfferedBytes == 0 || found.Limited != (found.OfferedBytes <= 65536) {
		t.Errorf("%+v", found)
	}
}

func FuzzRequest(f *testing.F) {
	for _, seed := range []string{"download 1048576\n", "download 0\n", "download -1\n", "download 1", "get 1\n", "\n", ""} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		asked, err := readRequest(bytes.NewReader(line))
		if err != nil {
			return
		}
		if asked < 1 || asked > MostBytes {
			t.Fatalf("%q gives %d", line, asked)
		}
		var written bytes.Buffer
		if err := writeRequest(&written, asked); err != nil {
			t.Fatal(err)
		}
		if again, err := readRequest(&written); err != nil || again != asked {
			t.Fatalf("%q gives %d, and written again %d, %v", line, asked, again, err)
		}
	})
}
