package relay

import (
	"strings"
	"testing"
)

func TestTransmitDropsAreThatColumn(t *testing.T) {
	const text = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:       1       2    3    4    5     6          7         8        9      10   11   12   13    14      15         16
   l1a: 1132944    1129    0   99    0     0          0         0  1132944    1129    0    7    0     0       0          0
`
	drops, err := parseTransmitDrops(strings.NewReader(text))
	if err != nil || len(drops) != 2 || drops["lo"] != 12 || drops["l1a"] != 7 {
		t.Errorf("%v (%v), want lo 12 and l1a 7", drops, err)
	}
	if _, err := parseTransmitDrops(strings.NewReader(" l1a: 1 2 3\n")); err == nil {
		t.Error("a line that is too short was read")
	}
}

func FuzzParseTransmitDrops(f *testing.F) {
	f.Add(" l1a: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n")
	f.Add("l:x")
	f.Fuzz(func(t *testing.T, text string) {
		drops, err := parseTransmitDrops(strings.NewReader(text))
		if err == nil && len(drops) > strings.Count(text, ":") {
			t.Fatalf("%d interfaces in %q", len(drops), text)
		}
	})
}
