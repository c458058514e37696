package push

import (
	"fmt"
	"io"
	stdlog "log"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"ncp-testbed/internal/telemetry"
)

// refuse lets the fake answer what InfluxDB says to a batch that holds a line
// with any of the marks, and take the others.
func refuse(message string, marks ...string) func([]string) (int, string, int) {
	return func(lines []string) (int, string, int) {
		for _, mark := range marks {
			if slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, mark) }) {
				return http.StatusBadRequest, message, 0
			}
		}
		return http.StatusNoContent, "", len(lines)
	}
}

// A batch whose first half is delivered when the time to drain ends: that half
// is not counted again among what is left.
func TestDrainEndsWithinAHalvedBatch(t *testing.T) {
	f := startFake(t)
	f.answers(func(lines []string) (int, string, int) {
		switch {
		case len(lines) == 10:
			return http.StatusBadRequest, "a fault of the whole batch", 0
		case strings.Contains(lines[0], " i=0i "):
			return http.StatusNoContent, "", len(lines)
		default:
			return http.StatusServiceUnavailable, "", 0
		}
	})
	s, path := newSpool(t)
	add(t, s, 0, 10)
	p := Start(f.config(), login, io.Discard, path)
	eventually(t, "the first half is taken", func() bool { return f.taken() == 5 })
	if got, want := p.Close(50*time.Millisecond), (telemetry.Counts{Points: 10, Pushed: 5}); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
}

// Two faulty points make InfluxDB refuse whole batches: they alone are lost.
func TestFaultyPointsAreFound(t *testing.T) {
	f := startFake(t)
	f.answers(refuse("a fault", " i=17i ", " i=4321i "))
	s, path := newSpool(t)
	add(t, s, 0, maxBatchPoints)
	got := Start(f.config(), login, io.Discard, path).Close(drain)
	if want := (telemetry.Counts{Points: maxBatchPoints, Pushed: maxBatchPoints - 2, Rejected: 2}); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
	if f.taken() != maxBatchPoints-2 || f.seen() > 60 {
		t.Errorf("%d points taken in %d requests", f.taken(), f.seen())
	}
}

// A fault that is not of single points costs neither a request nor a line of
// the log per point, and when it is over faulty points are looked for again.
func TestRefusalOfEverythingIsBounded(t *testing.T) {
	f := startFake(t)
	f.answers(refuse(`cannot take "m" at all`, "m"))
	s, path := newSpool(t)
	add(t, s, 0, 2*maxBatchPoints)
	var log syncBuffer
	p := Start(f.config(), login, &log, path)
	eventually(t, "both batches are refused", func() bool { return f.seen() >= 2*maxSplits+2 })
	f.answers(nil)
	add(t, s, 100000, 1)
	eventually(t, "a batch goes through", func() bool { return f.taken() == 1 })
	requests := f.seen()
	f.answers(refuse("a fault", " i=200003i "))
	add(t, s, 200000, 8)
	got := p.Close(drain)
	if want := (telemetry.Counts{Points: 2*maxBatchPoints + 9, Pushed: 8, Rejected: 2*maxBatchPoints + 1}); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
	if requests > 2*maxSplits+5 {
		t.Errorf("%d requests for two refused batches", requests)
	}
	if n := strings.Count(log.String(), "\n"); n > 4 || !strings.Contains(log.String(), `cannot take "m" at all`) {
		t.Errorf("%d lines of log: %s", n, log.String())
	}
}

// What InfluxDB 1.6.7 says, and 1.13.2 with where it is from, and how many of the points it did not take.
func TestRejected(t *testing.T) {
	const lines = "m x=1 1\nnonsense\nm x=\"t\" 2\nm x= 3\n# comment\nm,=a x=1 4\n"
	for _, c := range []struct {
		why    string
		points int
		coarse bool
	}{
		{`partial write: field type conflict: input field "x" on measurement "m" is type string, already exists as type float dropped=1`, 4, false},
		{"partial write: unable to parse 'nonsense': missing fields\nunable to parse 'm x= 3': missing field value dropped=0", 2, false},
		{"unable to parse 'a': missing fields\nunable to parse 'b': missing fields", 5, true},
		{"partial write: unable to parse 'm s=\"a 1\nm x=1 2\n# no point\nm x=2 3': unbalanced quotes dropped=0", 3, true},
		{"partial write: unable to parse 'm x=1 dropped=7': bad timestamp dropped=0", 1, false},
		{"partial write: unable to parse 'm x=1 dropped=7 for database: a': bad timestamp dropped=0", 1, false},
		{"partial write: points beyond retention policy dropped=9", 5, false},
		{"something else", 5, true},
	} {
		for _, why := range []string{c.why, c.why + " for database: ncp_testbed for retention policy: autogen"} {
			if got := rejected(why, []byte(lines), 5); got.points != c.points || got.coarse != c.coarse {
				t.Errorf("%s: %d points, coarse %v; want %d, %v", why, got.points, got.coarse, c.points, c.coarse)
			}
		}
	}
}

func FuzzRejected(f *testing.F) {
	f.Add("partial write: unable to parse 'a': missing fields dropped=0", []byte("a\nb c=1 2\n"), 2)
	f.Fuzz(func(t *testing.T, why string, lines []byte, points int) {
		points = max(points, 1)
		if r := rejected(why, lines, points); r.points < 0 || r.points > points {
			t.Fatalf("%d of %d points", r.points, points)
		}
	})
}

// Credentials that InfluxDB does not take are named as such, once, and the
// spool holds the points until they are right.
func TestWrongCredentials(t *testing.T) {
	for status, want := range map[int]string{http.StatusUnauthorized: `does not know user "u"`, http.StatusForbidden: `user "u" may not write`} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			f := startFake(t)
			f.answers(func([]string) (int, string, int) { return status, "no", 0 })
			s, path := newSpool(t)
			add(t, s, 0, 3)
			var log syncBuffer
			p := Start(f.config(), login, &log, path)
			eventually(t, "a few tries", func() bool { return f.seen() > 3 })
			if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), want) {
				t.Errorf("log %q, want %q once", log.String(), want)
			}
			f.answers(nil)
			if got, want := p.Close(drain), (telemetry.Counts{Points: 3, Pushed: 3}); got != want {
				t.Errorf("counts %+v, want %+v", got, want)
			}
		})
	}
}

// Messages that differ in their numbers and quoted texts are one kind; a long
// one is cut.
func TestJournal(t *testing.T) {
	f := startFake(t)
	f.answers(refuse("unable to parse '"+strings.Repeat("x", 5000), "m"))
	s, path := newSpool(t)
	add(t, s, 0, 1)
	var log syncBuffer
	Start(f.config(), login, &log, path).Close(drain)
	if n := len(log.String()); n > 3*maxMessageBytes {
		t.Errorf("%d bytes of log", n)
	}
	var kinds syncBuffer
	j := newJournal(stdlog.New(&kinds, "", 0))
	j.once(`write tcp 127.0.0.1:4711: line 'm x="1"' of "a"`)
	j.once(`write tcp 127.0.0.1:815: line 'n' of "b\"c"`)
	for i := range 3 * maxKinds {
		j.once(strings.Repeat("y", i+1))
	}
	if n := strings.Count(kinds.String(), "\n"); n != maxKinds {
		t.Errorf("%d messages, want %d", n, maxKinds)
	}
}
