package packet

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"ncp-testbed/ndn-agent/tlv"

	"pgregory.net/rapid"
)

func name(t testing.TB, uri string) Name {
	t.Helper()
	n, err := ParseName(uri)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// The bytes are worked out by hand from the packet format.
func TestKnownBytes(t *testing.T) {
	i := Interest{Name: name(t, "/A/seg=7"), CanBePrefix: true, MustBeFresh: true, Nonce: 0x01020304, Lifetime: 4 * time.Second, HopLimit: -1}
	const want = "0516" + "0706" + "080141" + "320107" + "2100" + "1200" + "0a0401020304" + "0c020fa0"
	if got := hex.EncodeToString(i.Append(nil)); got != want {
		t.Errorf("interest %s, want %s", got, want)
	}
	d := Data{Name: name(t, "/A"), Freshness: time.Second, FinalBlock: &Component{ComponentSegment, "\x02"}, Content: []byte("hi")}
	wire := d.Append(nil)
	const begin = "063b" + "0703080141" + "1409" + "190203e8" + "1a03320102" + "15026869" + "16031b0100" + "1720"
	if got := hex.EncodeToString(wire); !strings.HasPrefix(got, begin) || len(wire) != 2+0x3b {
		t.Errorf("data %s, want %s…", got, begin)
	}
}

func TestNamesAsURIs(t *testing.T) {
	for _, uri := range []string{
		"/", "/a", "/ncp-testbed/file/v=1/seg=23831", "/a%2Fb/%00", "/...", "/....", "/8000=x", "/t=1", "/seq=256",
		"/sha256digest=" + strings.Repeat("0a", 32),
	} {
		if got := name(t, uri).String(); got != uri {
			t.Errorf("%s came back as %s", uri, got)
		}
	}
	for _, uri := range []string{"", "a", "//a", "/a//b", "/.", "/seg=x", "/1=a", "/70000=a", "/sha256digest=00", "/%zz", strings.Repeat("/a", MaxComponents+1)} {
		if n, err := ParseName(uri); err == nil {
			t.Errorf("%q was read as %s", uri, n)
		}
	}
}

func drawName(t *rapid.T) Name {
	var n Name
	for range rapid.IntRange(1, 5).Draw(t, "components") {
		n = n.Append(rapid.Uint64Range(3, 300).Draw(t, "type"), rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "value"))
	}
	return n
}

// A name is a prefix of another where its components are, not just its bytes.
func TestPrefixesEndBetweenComponents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := drawName(t)
		count := 0
		for prefix := range n.Prefixes {
			if !n.HasPrefix(prefix) || count > 0 && prefix == "" {
				t.Fatalf("%s is no prefix of %s", prefix, n)
			}
			count++
		}
		last, parent, ok := n.Last()
		if !ok || parent.Append(last.Type, []byte(last.Value)) != n {
			t.Fatalf("%s is not %s and %s", n, parent, last)
		}
		parents := 0
		for range parent.Prefixes {
			parents++
		}
		if count != parents+1 {
			t.Fatalf("%d prefixes of %s, %d of its parent", count, n, parents)
		}
	})
	if name(t, "/ab").HasPrefix(name(t, "/a")) || !name(t, "/a/b").HasPrefix(name(t, "/a")) {
		t.Error("a prefix ends within a component")
	}
}

func TestInterestComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		i := Interest{
			Name: drawName(t), CanBePrefix: rapid.Bool().Draw(t, "prefix"), MustBeFresh: rapid.Bool().Draw(t, "fresh"),
			Nonce: rapid.Uint32().Draw(t, "nonce"), Lifetime: time.Duration(rapid.IntRange(0, 1<<20).Draw(t, "ms")) * time.Millisecond,
			HopLimit: rapid.IntRange(-1, 255).Draw(t, "hops"),
		}
		wire := i.Append(nil)
		got, err := DecodeInterest(wire)
		if err != nil {
			t.Fatal(err)
		}
		if got.Name != i.Name || got.CanBePrefix != i.CanBePrefix || got.MustBeFresh != i.MustBeFresh || !got.HasNonce ||
			got.Nonce != i.Nonce || got.Lifetime != i.Lifetime || got.HopLimit != i.HopLimit {
			t.Fatalf("%+v came back as %+v", i, got)
		}
		before := bytes.Clone(wire)
		next, ok := got.ForForwarding(1)
		if ok != (i.HopLimit != 0) || !bytes.Equal(wire, before) {
			t.Fatalf("hop limit %d: forwarded %t", i.HopLimit, ok)
		}
		if ok {
			again, err := DecodeInterest(next)
			if err != nil || again.HopLimit != max(i.HopLimit-1, -1) || again.Nonce != i.Nonce || again.Name != i.Name {
				t.Fatalf("forwarded as %+v, %v", again, err)
			}
		}
	})
}

// A consumer may leave the nonce to the first forwarder.
func TestNonceIsAdded(t *testing.T) {
	for _, more := range []string{"", "2100", "21001200", "1200", "12000c020fa0", "0c020fa0220105"} {
		tail, _ := hex.DecodeString("0703080141" + more)
		i, err := DecodeInterest(tlv.Append(nil, TypeInterest, tail))
		if err != nil || i.HasNonce {
			t.Fatalf("%s: %+v, %v", more, i, err)
		}
		wire, _ := i.ForForwarding(0xdeadbeef)
		got, err := DecodeInterest(wire)
		if err != nil || !got.HasNonce || got.Nonce != 0xdeadbeef || got.Lifetime != i.Lifetime || got.CanBePrefix != i.CanBePrefix ||
			got.MustBeFresh != i.MustBeFresh || i.HopLimit > 0 && got.HopLimit != i.HopLimit-1 {
			t.Errorf("%s was forwarded as %x: %+v, %v", more, wire, got, err)
		}
	}
}

func TestDataComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := Data{
			Name: drawName(t), ContentType: rapid.Uint64Range(0, 5).Draw(t, "type"),
			Freshness: time.Duration(rapid.IntRange(0, 1<<20).Draw(t, "ms")) * time.Millisecond,
			Content:   rapid.SliceOfN(rapid.Byte(), 0, 5000).Draw(t, "content"),
		}
		if rapid.Bool().Draw(t, "final") {
			d.FinalBlock = &Component{ComponentSegment, "\x05"}
		}
		wire := d.Append(nil)
		got, err := DecodeData(wire)
		if err != nil {
			t.Fatal(err)
		}
		if got.Name != d.Name || got.ContentType != d.ContentType || got.Freshness != d.Freshness || !bytes.Equal(got.Content, d.Content) ||
			(got.FinalBlock == nil) != (d.FinalBlock == nil) || d.FinalBlock != nil && *got.FinalBlock != *d.FinalBlock {
			t.Fatalf("%+v came back as %+v", d, got)
		}
		if intact, checked := got.Intact(); !intact || !checked {
			t.Fatal("the digest does not fit")
		}
		wire[len(wire)-1-rapid.IntRange(0, 31).Draw(t, "where")] ^= 1
		if intact, _ := got.Intact(); intact {
			t.Fatal("a changed digest fits")
		}
	})
}

// What a receiver does not know it leaves out, unless it is critical.
func TestUnknownElements(t *testing.T) {
	head, _ := hex.DecodeString("0703080141")
	for more, fine := range map[string]bool{"f000": true, "fd032000": true, "f100": false, "1f00": false, "0703080142": false, "12002100": false} {
		tail, _ := hex.DecodeString(more)
		_, err := DecodeInterest(tlv.Append(nil, TypeInterest, append(bytes.Clone(head), tail...)))
		if (err == nil) != fine {
			t.Errorf("with %s: %v", more, err)
		}
	}
}

func FuzzInterest(f *testing.F) {
	f.Add((&Interest{Name: name(f, "/a/seg=1"), CanBePrefix: true, HopLimit: 3}).Append(nil))
	f.Fuzz(func(t *testing.T, wire []byte) {
		i, err := DecodeInterest(wire)
		if err != nil {
			return
		}
		_ = i.Name.String()
		next, ok := i.ForForwarding(7)
		if !ok {
			return
		}
		again, err := DecodeInterest(next)
		if err != nil || again.Name != i.Name || !again.HasNonce || again.CanBePrefix != i.CanBePrefix || again.MustBeFresh != i.MustBeFresh ||
			again.Lifetime != i.Lifetime || !bytes.Equal(again.Parameters, i.Parameters) {
			t.Errorf("% x was forwarded as % x: %v", wire, next, err)
		}
	})
}

func FuzzData(f *testing.F) {
	f.Add((&Data{Name: name(f, "/a"), Freshness: time.Second, Content: []byte("x"), FinalBlock: &Component{ComponentSegment, "\x01"}}).Append(nil))
	f.Fuzz(func(t *testing.T, wire []byte) {
		d, err := DecodeData(wire)
		if err != nil {
			return
		}
		d.Intact()
		if !bytes.Contains(wire, d.Signed) || d.Name != "" && !bytes.Contains(d.Signed, []byte(d.Name)) {
			t.Errorf("% x: signed % x", wire, d.Signed)
		}
		if parsed, err := ParseName(d.Name.String()); err == nil && parsed.String() != d.Name.String() {
			t.Errorf("%s is read as %s", d.Name, parsed)
		}
	})
}

func FuzzParseName(f *testing.F) {
	f.Add("/a/seg=1/%00/...")
	f.Fuzz(func(t *testing.T, uri string) {
		n, err := ParseName(uri)
		if err != nil {
			return
		}
		if again, err := DecodeName([]byte(n)); err != nil || again != n {
			t.Errorf("%q: %v", uri, err)
		}
		if again, err := ParseName(n.String()); err != nil || again != n {
			t.Errorf("%q is %s, which is read as %s, %v", uri, n, again, err)
		}
	})
}
