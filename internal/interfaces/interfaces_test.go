package interfaces

import (
	"strings"
	"testing"
)

func TestCountersAreTheirColumns(t *testing.T) {
	const text = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:       1       2    3    4    5     6          7         8        9      10   11   12   13    14      15         16
h1-eth1: 1132944    1129    0   99    0     0          0         0  1132944    1130    0    7    0     0       0          0
`
	found, err := parse(strings.NewReader(text))
	if err != nil || len(found) != 2 || found["lo"] != (Counters{2, 10, 12}) || found["h1-eth1"] != (Counters{1129, 1130, 7}) {
		t.Errorf("%+v (%v)", found, err)
	}
	for _, bad := range []string{" l1a: 1 2 3\n", "x: 1 b 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"} {
		if _, err := parse(strings.NewReader(bad)); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func TestCountersAreThoseOfNow(t *testing.T) {
	file, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for range 2 { // from the start again each time
		if found, err := file.Read(); err != nil || len(found) == 0 {
			t.Errorf("%v (%v), want at least lo", found, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(" l1a: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n")
	f.Add("l:x")
	f.Fuzz(func(t *testing.T, text string) {
		found, err := parse(strings.NewReader(text))
		if err == nil && len(found) > strings.Count(text, ":") {
			t.Fatalf("%d interfaces in %q", len(found), text)
		}
	})
}
