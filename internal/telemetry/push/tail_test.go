package push

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ncp-testbed/internal/telemetry"
)

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A spool that nobody wrote is no fault.
func TestSpoolThatNeverAppears(t *testing.T) {
	f := startFake(t)
	var log syncBuffer
	p := Start(f.config(), login, &log, filepath.Join(t.TempDir(), "never", "spool.lp"))
	if got := p.Close(drain); got != (telemetry.Counts{}) || p.Err() != nil || log.String() != "" {
		t.Errorf("counts %+v, error %v, log %q", got, p.Err(), log.String())
	}
}

// Spools that can't be read to their end are told once each, as errors; the
// others are pushed all the same.
func TestUnreadableSpools(t *testing.T) {
	for name, c := range map[string]struct {
		make func(path string)
		want string
		left int
	}{
		"a folder":          {func(path string) { os.Mkdir(path, 0o755) }, "is a directory", 0},
		"a loop":            {func(path string) { os.Symlink(path, path) }, "symbolic links", 0},
		"an unfinished end": {func(path string) { writeFile(t, path, "m i=1i 1\nm i=2i 17") }, "last 9 bytes have no newline", 1},
		"no line protocol":  {func(path string) { writeFile(t, path, strings.Repeat("x", maxBatchBytes+1)) }, "no newline in 2097152 bytes from byte 0", 0},
	} {
		t.Run(name, func(t *testing.T) {
			f := startFake(t)
			good, path := newSpool(t)
			add(t, good, 0, 5)
			bad := filepath.Join(t.TempDir(), "bad.lp")
			c.make(bad)
			var log syncBuffer
			p := Start(f.config(), login, &log, bad, path)
			eventually(t, "the good spool", func() bool { return f.taken() >= 5 })
			add(t, good, 5, 5)
			eventually(t, "another look", func() bool { return f.taken() >= 10 })
			want := telemetry.Counts{Points: 10 + c.left, Pushed: 10 + c.left}
			if got := p.Close(drain); got != want {
				t.Errorf("counts %+v, want %+v", got, want)
			}
			if err := p.Err(); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), bad) {
				t.Errorf("error %v, want %q of %s", err, c.want, bad)
			}
			if n := strings.Count(log.String(), c.want); n != 1 {
				t.Errorf("log %q, want %q once", log.String(), c.want)
			}
		})
	}
}

// A spool that is shorter than what was read of it was replaced or cut.
func TestSpoolThatShrinks(t *testing.T) {
	f := startFake(t)
	path := filepath.Join(t.TempDir(), "spool.lp")
	writeFile(t, path, "m i=1i 1\nm i=2i 2\n")
	p := Start(f.config(), login, io.Discard, path)
	eventually(t, "the first points", func() bool { return f.taken() == 2 })
	writeFile(t, path, "m i=3i 3\n")
	if got, want := p.Close(drain), (telemetry.Counts{Points: 2, Pushed: 2}); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
	if err := p.Err(); err == nil || !strings.Contains(err.Error(), "has 9 bytes, 18 were read") {
		t.Errorf("error %v", err)
	}
}

func TestUnfinishedLineWaits(t *testing.T) {
	f := startFake(t)
	path := filepath.Join(t.TempDir(), "late.lp")
	p := Start(f.config(), login, io.Discard, path)
	writeFile(t, path, "# comment\nm i=1i 1\n\nm i=2")
	eventually(t, "the whole line", func() bool { return f.taken() > 0 })
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(file, "2i 2\n")
	file.Close()
	if got, want := p.Close(drain), (telemetry.Counts{Points: 2, Pushed: 2}); got != want || p.Err() != nil {
		t.Errorf("counts %+v, want %+v; %v", got, want, p.Err())
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lines["m i=22i 2"] != 1 || f.lines["m i=2"] != 0 {
		t.Errorf("lines %v", f.lines)
	}
}
