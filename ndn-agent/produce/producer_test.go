package produce

import (
	"bytes"
	"testing"
	"time"

	"ncp-testbed/ndn-agent/lp"
	"ncp-testbed/ndn-agent/packet"
)

func name(t testing.TB, uri string) packet.Name {
	t.Helper()
	n, err := packet.ParseName(uri)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestAnswers(t *testing.T) {
	var sent []lp.Packet
	content := []byte("0123456789")
	p, err := New(name(t, "/o/v=1"), bytes.NewReader(content), 10, 4, time.Second, func(out lp.Packet) { sent = append(sent, out) })
	if err != nil || p.Segments() != 3 || p.SHA256() != "84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96bedb9f882f7882" {
		t.Fatal(err, p)
	}
	for _, c := range []struct {
		uri         string
		canBePrefix bool
		want        string // segment and content; empty: no answer
	}{
		{"/o/v=1/seg=0", false, "/o/v=1/seg=0 0123"},
		{"/o/v=1/seg=2", true, "/o/v=1/seg=2 89"},
		{"/o", true, "/o/v=1/seg=0 0123"},
		{"/o/v=1", true, "/o/v=1/seg=0 0123"},
		{"/o", false, ""},
		{"/o/v=1/seg=3", false, ""},
		{"/o/v=2/seg=0", false, ""},
		{"/o/v=1/2", false, ""},
		{"/o/v=1/seg=0/x", false, ""},
	} {
		sent = nil
		i := packet.Interest{Name: name(t, c.uri), CanBePrefix: c.canBePrefix, HopLimit: -1}
		p.Receive(lp.Packet{Network: i.Append(nil), PitToken: "T"})
		got := ""
		if len(sent) == 1 {
			d, err := packet.DecodeData(sent[0].Network)
			if err != nil || d.FinalBlock == nil || d.FinalBlock.String() != "seg=2" || sent[0].PitToken != "T" {
				t.Fatalf("%s: %+v, %v", c.uri, d, err)
			}
			if intact, _ := d.Intact(); !intact {
				t.Errorf("%s: the digest does not fit", c.uri)
			}
			got = d.Name.String() + " " + string(d.Content)
		}
		if got != c.want || len(sent) > 1 {
			t.Errorf("%s was answered by %q, want %q", c.uri, got, c.want)
		}
	}
	p.Receive(lp.Packet{Network: []byte{5, 0}})
	p.Receive(lp.Packet{Network: []byte{6, 0}})
	if p.Stats.Malformed != 1 || p.Stats.Answered != 4 || p.Stats.Unknown != 5 {
		t.Errorf("%+v", p.Stats)
	}
}

func TestWhatCannotBeOffered(t *testing.T) {
	for _, c := range []struct{ bytes, segment int }{{0, 4}, {10, 0}, {10, MaxSegmentBytes + 1}, {11, 4}} {
		if _, err := New("", bytes.NewReader(make([]byte, 10)), int64(c.bytes), c.segment, 0, nil); err == nil {
			t.Errorf("%+v was taken", c)
		}
	}
}
