package telemetry

import (
	"bytes"
	"testing"
)

func FuzzWholeLines(f *testing.F) {
	f.Add([]byte("a b=1\n#c\n\nd"), 5)
	f.Fuzz(func(t *testing.T, buf []byte, limit int) {
		limit = max(1, limit%10)
		end, points := WholeLines(buf, limit)
		if end > 0 && buf[end-1] != '\n' || points > limit || points > bytes.Count(buf[:end], []byte("\n")) {
			t.Fatalf("end %d, points %d of %q", end, points, buf)
		}
		if points < limit && bytes.IndexByte(buf[end:], '\n') >= 0 {
			t.Fatalf("stopped at %d of %q", end, buf)
		}
	})
}
