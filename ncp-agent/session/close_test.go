package session

import (
	"errors"
	"io"
	"testing"
	"time"
)

func TestCloseWaitsForAcknowledgementsThenRepeats(t *testing.T) {
	a, b := pair(t, 1, nil)
	writeAll(t, 0, a, 100)
	writeAll(t, 0, a, 100)
	a.Close(1 * ms)
	if a.Write(1*ms, []byte{1}) != 0 {
		t.Error("wrote after Close")
	}
	deliver(t, 2*ms, 0, a, b)
	deliver(t, 2*ms, 0, a, b)
	if a.Ready(2*ms, 0) {
		t.Fatal("closed before the acknowledgement")
	}
	b.Advance(50 * ms)
	deliver(t, 60*ms, 0, b, a)
	closes := 0
	for a.State() != Closed {
		for {
			p, ok := take(t, a.now, 0, a)
			if !ok {
				break
			}
			if p.Close {
				closes++
				if err := b.Receive(a.now, 0, p.Append(nil)); err != nil && !errors.Is(err, ErrClosed) {
					t.Fatal(err)
				}
			}
		}
		a.Advance(a.Deadline())
	}
	if want := time.Second + closeRepeats*closeInterval; closes != closeRepeats || a.now > want+ms {
		t.Errorf("%d close packets until %v, want %v: a linger as nobody reads", closes, a.now, want)
	}
	buf := make([]byte, 1000)
	if n, err := b.Read(a.now, buf); n != 200 || err != nil {
		t.Errorf("after the close %d bytes, %v, want the 200 received", n, err)
	}
	if _, err := b.Read(a.now, buf); !errors.Is(err, io.EOF) {
		t.Errorf("at the end %v, want io.EOF", err)
	}
	if _, err := a.Read(a.now, buf); !errors.Is(err, ErrClosed) {
		t.Errorf("at the closing end %v, want ErrClosed", err)
	}
}

// A close waits until the peer has read, and no longer.
func TestCloseWaitsForReading(t *testing.T) {
	a, b := pair(t, 1, nil)
	writeAll(t, 0, a, 100)
	deliver(t, 0, 0, a, b)
	b.Advance(50 * ms)
	deliver(t, 50*ms, 0, b, a)
	a.Close(60 * ms)
	if a.Ready(60*ms, 0) {
		t.Fatal("closed before the peer has read")
	}
	b.Read(70*ms, make([]byte, 100))
	b.Advance(300 * ms)
	deliver(t, 300*ms, 0, b, a)
	if p, ok := take(t, 300*ms, 0, a); !ok || !p.Close {
		t.Errorf("sends %+v, %v, want the close", p, ok)
	}
}

func TestCloseGivesUpAfterLinger(t *testing.T) {
	a, _ := pair(t, 1, nil)
	writeAll(t, 0, a, 100)
	a.Close(0)
	for a.State() != Closed {
		drain(a.now, 0, a)
		a.Advance(a.Deadline())
	}
	if a.now < time.Second || a.now > 2*time.Second {
		t.Errorf("closed at %v, want shortly after the linger of 1 s", a.now)
	}
}
