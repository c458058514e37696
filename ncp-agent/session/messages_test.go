package session

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"
)

// Messages keep their bounds, whatever happens to their packets; a stream
// before and after them is untouched.
func TestMessages(t *testing.T) {
	cfg := Default("1", "2")
	cfg.AckRepeats = 1
	lossy := path{pps: 1000, delay: 20 * ms, jitter: 30 * ms, queue: 40, loss: 0.05, copies: 0.05}
	w := newWorld(t, 1, cfg, cfg, []path{lossy, lossy}, []path{lossy, lossy})
	message := func(i int) []byte { return bytes.Repeat([]byte{byte(i)}, 1+i*37%1024) }
	const count = 3000
	sent, received := 0, 0
	buf := make([]byte, 1024)
	w.app = func() {
		for sent < count {
			taken, err := w.ends[0].WriteMessage(w.now, message(sent))
			if err != nil {
				t.Fatal(err)
			}
			if !taken {
				break
			}
			sent++
		}
		for {
			n, err := w.ends[1].ReadMessage(w.now, buf)
			if n == 0 || err != nil {
				return
			}
			if !bytes.Equal(buf[:n], message(received)) {
				t.Fatalf("message %d has %d bytes, want %d", received, n, len(message(received)))
			}
			received++
		}
	}
	if !w.run(time.Minute, func() bool { return received == count }) {
		t.Fatalf("stuck: %d sent, %d received", sent, received)
	}
}

func TestMessageBounds(t *testing.T) {
	a, b := pair(t, 1, func(c *Config) { c.WindowBytes = 2500 })
	if _, err := a.WriteMessage(0, make([]byte, 1025)); !errors.Is(err, ErrMessage) {
		t.Errorf("beyond the MTU: %v", err)
	}
	writeAll(t, 0, a, 1000)
	deliver(t, 0, 0, a, b)
	writeAll(t, 0, a, 100) // waits for more
	for _, want := range []bool{true, false} {
		if taken, err := a.WriteMessage(0, make([]byte, 1000)); taken != want || err != nil {
			t.Errorf("taken %v, %v, want %v: the window holds 2500 bytes", taken, err, want)
		}
	}
	if taken, err := a.WriteMessage(0, nil); !taken || err != nil {
		t.Errorf("an empty message: %v, %v", taken, err)
	}
	for range 2 {
		deliver(t, 0, 0, a, b)
	}
	if n, err := b.Read(0, make([]byte, 1050)); n != 1050 || err != nil {
		t.Errorf("read %d, %v", n, err)
	}
	buf := make([]byte, 1000)
	if n, err := b.ReadMessage(0, buf[:49]); n != 0 || !errors.Is(err, io.ErrShortBuffer) {
		t.Errorf("into a small buffer: %d, %v", n, err)
	}
	for _, want := range []int{50, 1000, 0} {
		if n, err := b.ReadMessage(0, buf); n != want || err != nil {
			t.Errorf("read %d, %v, want %d", n, err, want)
		}
	}
	a.Close(0)
	if _, err := a.WriteMessage(0, buf); !errors.Is(err, ErrClosed) {
		t.Errorf("after the close: %v", err)
	}
	b.receiveClose()
	if _, err := b.ReadMessage(0, buf); !errors.Is(err, io.EOF) {
		t.Errorf("after the peer's close: %v", err)
	}
}
