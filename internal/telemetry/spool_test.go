package telemetry

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ncp-testbed/internal/test/smalldisk"
)

// A point that line protocol can't carry is left out and counted; its
// neighbours are kept, whatever is wrong with it and wherever it is.
func TestFaultyPointIsSkippedAlone(t *testing.T) {
	at := time.Unix(1, 0)
	faults := map[string]func(p *Points){
		"no field":    func(p *Points) { p.Add("bad", Tags{}, at, Float("x", math.NaN())) },
		"measurement": func(p *Points) { p.Add("", Tags{}, at, Int("x", 1)) },
		"tag":         func(p *Points) { p.Add("bad", MakeTags(map[string]string{"a": "b\nc"}), at, Int("x", 1)) },
		"word":        func(p *Points) { p.Add("bad", Tags{}, at, Int("x", 1), Int("a b", 1)) },
		"field name":  func(p *Points) { p.Add("bad", Tags{}, at, Int("", 1), Int("x", 1)) },
		"time":        func(p *Points) { p.Add("bad", Tags{}, time.Unix(1<<40, 0), Int("x", 1)) },
	}
	for name, fault := range faults {
		for position := range 3 {
			t.Run(fmt.Sprintf("%s at %d", name, position), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "spool.lp")
				s, err := OpenSpool(path)
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				var p Points
				for i := range 3 {
					if i == position {
						fault(&p)
					}
					p.Add("good", Tags{}, at, Int("n", i))
				}
				err = s.Append(&p)
				if skipped, ok := errors.AsType[*SkippedError](err); !ok || skipped.Points != 1 {
					t.Errorf("error %v, want one point skipped", err)
				}
				const want = "good n=0i 1000000000\ngood n=1i 1000000000\ngood n=2i 1000000000\n"
				if text, _ := os.ReadFile(path); string(text) != want || s.Points() != 3 || s.Lost() != 1 {
					t.Errorf("%d points, %d lost, spool %q", s.Points(), s.Lost(), text)
				}
				p.Add("good", Tags{}, at, Int("n", 3))
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
			if err := os.WriteFile(path, []byte(c[0]), 0o644); err != nil {
				t.Fatal(err)
			}
			s, err := OpenSpool(path)
			if err != nil {
				t.Fatal(err)
			}
			var p Points
			p.Add("m", MakeTags(map[string]string{"run": "r"}), time.Unix(0, 1), Int("i", 1))
			if err := s.Append(&p); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if text, _ := os.ReadFile(path); string(text) != c[1]+"m,run=r i=1i 1\n" {
				t.Errorf("spool %.100q", text)
			}
		})
	}
}

// A disk that stays full: what waits in memory is bounded, and what is lost is
// counted.
func TestDiskStaysFull(t *testing.T) {
	smalldisk.Run(t, 32<<10, func(dir string) error {
		s, err := OpenSpool(filepath.Join(dir, "spool.lp"))
		if err != nil {
			return err
		}
		const batches = 120
		for range batches {
			var p Points
			for range 500 {
				p.Add("m", Tags{}, time.Unix(0, 1), Text("filler", strings.Repeat("x", 100)))
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
