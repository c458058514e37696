package session

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

func TestReadToGivesWhatReadLeaves(t *testing.T) {
	a, b := pair(t, 1, nil)
	want := make([]byte, 3000)
	for i := range want {
		want[i] = byte(i / 7)
	}
	if n := a.Write(0, want); n != len(want) {
		t.Fatalf("%d bytes taken", n)
	}
	a.Advance(20 * ms) // what does not fill a packet goes too
	for range 3 {
		deliver(t, 20*ms, 0, a, b)
	}
	got := make([]byte, 100)
	b.Read(21*ms, got)
	var parts int
	n, err := b.ReadTo(21*ms, func(part []byte) {
		got = append(got, part...)
		parts++
	})
	if n != 2900 || err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes in %d parts, %v: want the 2900 that are left", n, parts, err)
	}
	if b.receiver.used != 0 || b.receiver.read != 3000 {
		t.Errorf("%d bytes held, %d read", b.receiver.used, b.receiver.read)
	}
	none := func([]byte) { t.Error("nothing is left, yet there is a part") }
	if n, err := b.ReadTo(22*ms, none); n != 0 || err != nil {
		t.Errorf("nothing to read gives %d, %v", n, err)
	}
	b.state, b.closing.byPeer = Closed, true
	if n, err := b.ReadTo(22*ms, none); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("the end gives %d, %v", n, err)
	}
}

// What one session has given back another one takes.
func TestSessionsShareBuffers(t *testing.T) {
	shared := NewBuffers(Default().MTUBytes)
	share := func(c *Config) { c.Buffers = shared }
	for range 3 {
		a, b := pair(t, 1, share)
		for range 8 {
			writeAll(t, 0, a, 1024)
			deliver(t, 0, 0, a, b)
			if n, _ := b.ReadTo(0, func([]byte) {}); n != 1024 {
				t.Fatalf("%d bytes arrived", n)
			}
		}
		b.Advance(50 * ms)
		deliver(t, 60*ms, 0, b, a)
		if n := a.Unacknowledged(); n != 0 {
			t.Fatalf("%d packets are not acknowledged", n)
		}
		if n := shared.Free(); n != 9 { // 8 until they are acknowledged, 1 until it is read
			t.Errorf("%d buffers were needed, want 9", n)
		}
	}
	cfg := Default("1")
	cfg.MTUBytes, cfg.Buffers = 512, shared
	if _, err := New(cfg); err == nil {
		t.Error("took buffers of another size")
	}
}
