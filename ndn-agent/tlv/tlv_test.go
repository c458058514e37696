package tlv

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestNumbersComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Uint64().Draw(t, "n") >> rapid.IntRange(0, 63).Draw(t, "shift")
		b := AppendNumber(nil, n)
		if len(b) != NumberSize(n) {
			t.Fatalf("%d takes %d bytes, NumberSize says %d", n, len(b), NumberSize(n))
		}
		got, rest, err := Number(append(b, 7))
		if err != nil || got != n || !bytes.Equal(rest, []byte{7}) {
			t.Fatalf("%d came back as %d, rest %v, %v", n, got, rest, err)
		}
		for cut := range b {
			if _, _, err := Number(b[:cut]); !errors.Is(err, ErrShort) {
				t.Fatalf("%d of %d bytes: %v", cut, len(b), err)
			}
		}
	})
}

func TestNumberTakesTheShortestFormOnly(t *testing.T) {
	for _, b := range [][]byte{{253, 0, 252}, {254, 0, 0, 255, 255}, {255, 0, 0, 0, 0, 255, 255, 255, 255}} {
		if _, _, err := Number(b); !errors.Is(err, ErrNotMinimal) {
			t.Errorf("%v: %v", b, err)
		}
	}
}

func TestUint(t *testing.T) {
	for n, want := range map[uint64][]byte{0: {0}, 255: {255}, 256: {1, 0}, 1 << 16: {0, 1, 0, 0}, math.MaxUint64: bytes.Repeat([]byte{255}, 8)} {
		b := AppendUintValue(nil, n)
		if got, err := Uint(b); !bytes.Equal(b, want) || got != n || err != nil {
			t.Errorf("%d is %v and comes back as %d, %v", n, b, got, err)
		}
	}
	if _, err := Uint(make([]byte, 3)); err == nil {
		t.Error("a number of 3 bytes was taken")
	}
}

// A stream may be cut anywhere; the size is known as soon as the header is there.
func TestSizeOfAStreamsBeginning(t *testing.T) {
	element := Append(nil, 0x320, bytes.Repeat([]byte{1}, 300))
	for cut := range element {
		size, err := Size(element[:cut])
		if err != nil || cut < 6 && size != 0 || cut >= 6 && size != len(element) {
			t.Fatalf("%d bytes: size %d, %v", cut, size, err)
		}
	}
	if _, err := Size(AppendHeader(nil, 6, MaxElementBytes+1)); err == nil {
		t.Error("an element longer than the bound was taken")
	}
	if _, err := Size([]byte{0, 0}); !errors.Is(err, ErrType) {
		t.Errorf("type 0: %v", err)
	}
}

func FuzzElement(f *testing.F) {
	f.Add([]byte{6, 1, 2})
	f.Add([]byte{253, 3, 32, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		kind, value, rest, err := Element(b)
		if err != nil {
			return
		}
		if again := append(Append(nil, kind, value), rest...); !bytes.Equal(again, b) {
			t.Errorf("% x was read as % x", b, again)
		}
		if size, err := Size(b); err == nil && size != len(b)-len(rest) {
			t.Errorf("% x: size %d, read %d", b, size, len(b)-len(rest))
		}
	})
}
