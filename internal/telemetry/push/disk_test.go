package push

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ncp-testbed/internal/telemetry"
	"ncp-testbed/internal/test/smalldisk"
)

// The disk fills up in the middle of a line and has room again later: every
// point is in the spool once, whole, in order, and InfluxDB gets each, though
// the pusher reads all the time.
func TestDiskFull(t *testing.T) {
	f := startFake(t)
	smalldisk.Run(t, 64<<10, func(dir string) error {
		ballast := filepath.Join(dir, "ballast")
		writeFile(t, ballast, strings.Repeat("x", 40<<10))
		spool := filepath.Join(dir, "spool.lp")
		s, err := telemetry.OpenSpool(spool)
		if err != nil {
			return err
		}
		seen, err := os.Open(spool)
		if err != nil {
			return err
		}
		defer seen.Close()
		// The pusher's thread has another view of the file system.
		pusher := Start(f.config(), login, io.Discard, fmt.Sprintf("/proc/self/fd/%d", seen.Fd()))
		failures := 0
		const batches, size = 20, 100
		for batch := range batches {
			var p telemetry.Points
			for i := range size {
				p.Add("m", telemetry.Tags{}, time.Unix(0, int64(batch*size+i)), telemetry.Int("i", i), telemetry.Text("filler", "some text"))
			}
			err := s.Append(&p)
			if err != nil && failures == 0 {
				if !errors.Is(err, unix.ENOSPC) {
					return err
				}
				if text, err := os.ReadFile(spool); err != nil || !bytes.HasSuffix(text, []byte("\n")) {
					return fmt.Errorf("%v; the spool ends in %q", err, text[max(0, len(text)-100):])
				}
			}
			if err != nil {
				if failures++; failures == 3 {
					os.Remove(ballast)
				}
			}
			time.Sleep(5 * time.Millisecond)
		}
		if failures != 3 {
			return fmt.Errorf("%d appends failed, want 3 of %d", failures, batches)
		}
		text, err := os.ReadFile(spool)
		if err != nil {
			return err
		}
		var want strings.Builder
		for i := range batches * size {
			fmt.Fprintf(&want, "m i=%di,filler=\"some text\" %d\n", i%size, i)
		}
		if string(text) != want.String() {
			return fmt.Errorf("the spool has %d bytes, want %d", len(text), want.Len())
		}
		if s.Points() != batches*size || s.Lost() != 0 {
			return fmt.Errorf("%d points, %d lost", s.Points(), s.Lost())
		}
		if got, want := pusher.Close(drain), (telemetry.Counts{Points: batches * size, Pushed: batches * size}); got != want || pusher.Err() != nil || f.taken() != batches*size {
			return fmt.Errorf("counts %+v, want %+v; %d taken; %v", got, want, f.taken(), pusher.Err())
		}
		return s.Close()
	})
}
