package wire

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// packetsOf reads a stream to its end, the way a socket does.
func packetsOf(limit int, from io.Reader) (packets [][]byte, err error) {
	f := NewFrameReader(limit)
	for {
		packet, ok, err := f.Next()
		if err != nil {
			return packets, err
		}
		if ok {
			packets = append(packets, bytes.Clone(packet))
			continue
		}
		if err := f.Fill(from); err != nil {
			return packets, err
		}
	}
}

func TestFrames(t *testing.T) {
	const limit = 2048
	var stream []byte
	want := [][]byte{{}, []byte("a"), bytes.Repeat([]byte("b"), limit), {}, bytes.Repeat([]byte("c"), 1031)}
	for range 100 { // more than the buffer holds
		for _, packet := range want {
			stream = AppendFrame(stream, packet)
		}
	}
	if got := stream[:9]; !bytes.Equal(got, []byte{0, 0, 0, 0, 1, 0, 0, 0, 'a'}) {
		t.Errorf("the stream begins with % x", got)
	}
	for name, from := range map[string]io.Reader{
		"at once":      bytes.NewReader(stream),
		"by byte":      iotest.OneByteReader(bytes.NewReader(stream)),
		"data and EOF": iotest.DataErrReader(bytes.NewReader(stream)),
	} {
		packets, err := packetsOf(limit, from)
		if err != io.EOF || len(packets) != 100*len(want) {
			t.Fatalf("%s: %d packets, %v", name, len(packets), err)
		}
		for i, packet := range packets {
			if !bytes.Equal(packet, want[i%len(want)]) {
				t.Fatalf("%s: packet %d has %d bytes", name, i, len(packet))
			}
		}
	}
}

func TestFaultyStreams(t *testing.T) {
	for name, c := range map[string]struct {
		stream string
		want   string
	}{
		"within a length": {"\x01\x00\x00", io.ErrUnexpectedEOF.Error()},
		"within a packet": {"\x03\x00\x00\x00ab", io.ErrUnexpectedEOF.Error()},
		"too long":        {"\x01\x00\x00\x00a\x0b\x00\x00\x00", "a frame of 11 bytes, want at most 10"},
		"far too long":    {"\xff\xff\xff\xff", "a frame of 4294967295 bytes, want at most 10"},
	} {
		if _, err := packetsOf(10, strings.NewReader(c.stream)); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// However a stream is cut into reads, the same packets come out; they are the
// stream's bytes, and joined again they give it back.
func FuzzFrames(f *testing.F) {
	f.Add([]byte("\x01\x00\x00\x00a\x00\x00\x00\x00\x02\x00\x00\x00bc"), 3)
	f.Add([]byte("\xff\xff\xff\xff"), 1)
	f.Fuzz(func(t *testing.T, stream []byte, chunk int) {
		const limit = 100
		packets, err := packetsOf(limit, bytes.NewReader(stream))
		cut, cutErr := packetsOf(limit, &chunks{stream, max(1, chunk%50)})
		if (err == nil) != (cutErr == nil) || err.Error() != cutErr.Error() || len(cut) != len(packets) {
			t.Fatalf("%d packets, %v; in chunks %d, %v", len(packets), err, len(cut), cutErr)
		}
		var joined []byte
		for i, packet := range packets {
			if len(packet) > limit || !bytes.Equal(packet, cut[i]) {
				t.Fatalf("packet %d: % x, in chunks % x", i, packet, cut[i])
			}
			joined = AppendFrame(joined, packet)
		}
		if !bytes.HasPrefix(stream, joined) || errors.Is(err, io.EOF) && len(joined) != len(stream) {
			t.Fatalf("% x came out of % x, %v", joined, stream, err)
		}
	})
}

// chunks reads a few bytes at a time.
type chunks struct {
	left []byte
	size int
}

func (c *chunks) Read(b []byte) (int, error) {
	if len(c.left) == 0 {
		return 0, io.EOF
	}
	n := copy(b, c.left[:min(c.size, len(c.left))])
	c.left = c.left[n:]
	return n, nil
}
