package endpoint

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"ncp-testbed/ncp-agent/session"
)

func TestMessagesOverLoopback(t *testing.T) {
	ctx := testContext(t)
	here, there := endpoints(t, 2)
	a, b := open(t, ctx, config(2), here), open(t, ctx, config(2), there)
	a.Dial()
	<-a.Established()
	message := func(i int) []byte { return bytes.Repeat([]byte{byte(i)}, 1+i*37%1024) }
	const count = 20000 // more than the window
	wrote := make(chan error, 1)
	go func() {
		for i := range count {
			if err := a.WriteMessage(ctx, message(i)); err != nil {
				wrote <- err
				return
			}
		}
		wrote <- nil
	}()
	buf := make([]byte, 1024)
	for i := range count {
		n, err := b.ReadMessage(ctx, buf)
		if err != nil || !bytes.Equal(buf[:n], message(i)) {
			t.Fatalf("message %d has %d bytes, want %d; %v", i, n, len(message(i)), err)
		}
	}
	if err := <-wrote; err != nil {
		t.Fatal(err)
	}
	if err := a.WriteMessage(ctx, make([]byte, 1025)); !errors.Is(err, session.ErrMessage) {
		t.Errorf("beyond the MTU: %v", err)
	}
	a.Close(ctx)
	if _, err := b.ReadMessage(ctx, buf); err != io.EOF {
		t.Errorf("after the peer's close: %v, want io.EOF", err)
	}
	b.Close(ctx)
}

// A deadline ends a read, a write or a drain that waits, and nothing else: the
// session goes on.
func TestDeadlines(t *testing.T) {
	ctx := testContext(t)
	here, there := endpoints(t, 1)
	a, b := open(t, ctx, config(1), here), open(t, ctx, config(1), there)
	a.Dial()
	<-a.Established()
	soon := func() context.Context {
		short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		t.Cleanup(cancel)
		return short
	}
	if n, err := b.Read(soon(), make([]byte, 1)); n != 0 || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("read %d, %v", n, err)
	}
	if _, err := b.ReadMessage(soon(), make([]byte, 1)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("read a message: %v", err)
	}
	// Nobody reads: a window and no more is taken.
	const window = 4 << 20
	n, err := a.Write(soon(), make([]byte, 2*window))
	for more := 1; n < window && more > 0; n += more { // a busy machine needs longer
		more, err = a.Write(soon(), make([]byte, 2*window))
	}
	if n != window || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("wrote %d bytes, %v, want the window", n, err)
	}
	if err := a.WriteMessage(soon(), make([]byte, 1000)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("wrote a message: %v", err)
	}
	if err := a.Drain(ctx); err != nil { // acknowledged, though not read
		t.Fatal(err)
	}
	for left := n; left > 0; {
		k, err := b.Read(ctx, make([]byte, 1<<20))
		if err != nil {
			t.Fatal(err)
		}
		left -= k
	}
	if err := pump(ctx, a, b, 1, 5<<20); err != nil {
		t.Error(err)
	}
	b.PauseReading(0, time.Hour)
	if err := a.WriteMessage(ctx, make([]byte, 1000)); err != nil {
		t.Error(err)
	}
	if err := a.Drain(soon()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("drained: %v", err)
	}
	b.PauseReading(0, 0)
	a.Close(ctx)
	b.Close(ctx)
}

// WriteMessage hands b to the session as one message, waiting for room. It
// gives session.ErrMessage for one that is too large.
func (d *Driver) WriteMessage(ctx context.Context, b []byte) error {
	for {
		d.mu.Lock()
		taken, err := d.session.WriteMessage(d.now(), b)
		if taken {
			d.notify() // only then: room for a part of the message would wake this again
		}
		d.mu.Unlock()
		if taken || err != nil {
			return err
		}
		if err := d.wait(ctx, d.writable); err != nil {
			return err
		}
	}
}

// ReadMessage reads one message into b, waiting for it. One that is longer
// than b stays, with io.ErrShortBuffer.
func (d *Driver) ReadMessage(ctx context.Context, b []byte) (int, error) {
	return d.read(ctx, b, d.session.ReadMessage)
}
