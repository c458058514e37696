package telemetry

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A point that line protocol can't carry is left out and counted; its
// neighbours are kept, whatever is wrong with it and wherever it is.
func TestFaultyPointIsSkippedAlone(t *testing.T) {
	at := time.Unix(1, 0)
	faults := map[string]func(p *Points){
		"no field":    func(p *Points) { p.Add("bad", nil, at, Float("x", math.NaN())) },
		"measurement": func(p *Points) { p.Add("", nil, at, Int("x", 1)) },
		"tag":         func(p *Points) { p.Add("bad", Tags{{"a", "b\nc"}}, at, Int("x", 1)) },
		"tag order":   func(p *Points) { p.Add("bad", Tags{{"b", "1"}, {"a", "1"}}, at, Int("x", 1)) },
		"field name":  func(p *Points) { p.Add("bad", nil, at, Int("", 1), Int("x", 1)) },
		"time":        func(p *Points) { p.Add("bad", nil, time.Unix(1<<40, 0), Int("x", 1)) },
	}
	for name, fault := range faults {
		for position := range 3 {
			t.Run(fmt.Sprintf("%s at %d", name, position), func(t *testing.T) {
				s, path := newSpool(t)
				var p Points
				for i := range 3 {
					if i == position {
						fault(&p)
					}
					p.Add("good", nil, at, Int("n", i))
				}
				err := s.Append(&p)
				if skipped, ok := errors.AsType[*SkippedError](err); !ok || skipped.Points != 1 {
					t.Errorf("error %v, want one point skipped", err)
				}
				const want = "good n=0i 1000000000\ngood n=1i 1000000000\ngood n=2i 1000000000\n"
				if text, _ := os.ReadFile(path); string(text) != want || s.Points() != 3 || s.Lost() != 1 {
					t.Errorf("%d points, %d lost, spool %q", s.Points(), s.Lost(), text)
				}
				p.Add("good", nil, at, Int("n", 3))
				if err := s.Append(&p); err != nil || s.Points() != 4 {
					t.Errorf("afterwards %v, %d points", err, s.Points())
				}
			})
		}
	}
}

// A part of a line that a killed process left does not join the next line.
func TestSpoolCutsAnUnfinishedEnd(t *testing.T) {
	for name, c := range map[string][2]string{
		"whole":     {"m i=7i 7\n", "m i=7i 7\n"},
		"part":      {"m i=7i 7\nm i=8i 123", "m i=7i 7\n"},
		"long part": {"m i=7i 7\n" + strings.Repeat("x", 200<<10), "m i=7i 7\n"},
		"only part": {"m i=8", ""},
		"empty":     {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "spool.lp")
			writeFile(t, path, c[0])
			s, err := OpenSpool(path)
			if err != nil {
				t.Fatal(err)
			}
			add(t, s, 1, 1)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if text, _ := os.ReadFile(path); string(text) != c[1]+"m,run=r i=1i 1\n" {
				t.Errorf("spool %.100q", text)
			}
		})
	}
}

// smallDisk gives a folder on a file system of a few pages, in a mount
// namespace of a thread that ends with the test; run uses it on that thread.
func smallDisk(t *testing.T, bytes int, run func(dir string) error) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root, to mount a small file system")
	}
	dir := t.TempDir()
	skip := errors.New("skip")
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread and its namespace end here
		err := unix.Unshare(unix.CLONE_NEWNS)
		if err == nil {
			err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
		}
		if err == nil {
			err = unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", bytes))
		}
		if err != nil {
			done <- fmt.Errorf("%w: %w", skip, err)
			return
		}
		done <- run(dir)
	}()
	if err := <-done; errors.Is(err, skip) {
		t.Skip(err)
	} else if err != nil {
		t.Error(err)
	}
}

// The disk fills up in the middle of a line and has room again later: every
// point is in the spool once, whole, in order, and InfluxDB gets each, though
// the pusher reads all the time.
func TestDiskFull(t *testing.T) {
	f := startFake(t)
	smallDisk(t, 64<<10, func(dir string) error {
		ballast := filepath.Join(dir, "ballast")
		writeFile(t, ballast, strings.Repeat("x", 40<<10))
		s, err := OpenSpool(filepath.Join(dir, "spool.lp"))
		if err != nil {
			return err
		}
		// The pusher's thread has another view of the file system.
		pusher := StartPusher(f.config(), login, io.Discard, fmt.Sprintf("/proc/self/fd/%d", s.file.Fd()))
		failures := 0
		const batches, size = 20, 100
		for batch := range batches {
			var p Points
			for i := range size {
				p.Add("m", nil, time.Unix(0, int64(batch*size+i)), Int("i", i), Text("filler", "some text"))
			}
			err := s.Append(&p)
			if err != nil && failures == 0 {
				if !errors.Is(err, unix.ENOSPC) {
					return err
				}
				if whole, err := wholeSize(s.file); err != nil || whole != s.size || s.torn {
					return fmt.Errorf("%d of %d bytes are whole lines, torn %v, %v", whole, s.size, s.torn, err)
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
		text, err := os.ReadFile(filepath.Join(dir, "spool.lp"))
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
		if got, want := pusher.Close(drain), (Counts{Points: batches * size, Pushed: batches * size}); got != want || pusher.Err() != nil || f.taken() != batches*size {
			return fmt.Errorf("counts %+v, want %+v; %d taken; %v", got, want, f.taken(), pusher.Err())
		}
		return s.Close()
	})
}

// A disk that stays full: what waits in memory is bounded, and what is lost is
// counted.
func TestDiskStaysFull(t *testing.T) {
	smallDisk(t, 32<<10, func(dir string) error {
		s, err := OpenSpool(filepath.Join(dir, "spool.lp"))
		if err != nil {
			return err
		}
		const batches = 120
		for range batches {
			var p Points
			for range 500 {
				p.Add("m", nil, time.Unix(0, 1), Text("filler", strings.Repeat("x", 100)))
			}
			err = s.Append(&p)
		}
		if err == nil || !strings.Contains(err.Error(), "lost") || len(s.pending) > maxPendingBytes {
			return fmt.Errorf("last append: %w; %d bytes wait", err, len(s.pending))
		}
		if err := s.Close(); !errors.Is(err, unix.ENOSPC) {
			return fmt.Errorf("closed with %w", err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "spool.lp"))
		if n := strings.Count(string(text), "\n"); err != nil || n == 0 || n != s.Points() || !strings.HasSuffix(string(text), "\n") {
			return fmt.Errorf("%d lines in the file, %d counted, %w", n, s.Points(), err)
		}
		if s.Points()+s.Lost() != batches*500 {
			return fmt.Errorf("%d points and %d lost of %d", s.Points(), s.Lost(), batches*500)
		}
		return nil
	})
}
