package payload

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"testing"
)

func all(t *testing.T, s *Stream) []byte {
	var whole bytes.Buffer
	for part := s.Next(); len(part) > 0; part = s.Next() {
		whole.Write(part)
	}
	return whole.Bytes()
}

// The stream is the key stream of AES-128 (NIST SP 800-38A, section 6.5): the
// same on every machine, whatever parts it is drawn in.
func TestStreamIsCounterMode(t *testing.T) {
	const n = 3*chunk + 17
	s := New(7, "s1", n)
	got := all(t, s)
	key := sha256.Sum256([]byte("7/s1"))
	block, err := aes.NewCipher(key[:16])
	if err != nil {
		t.Fatal(err)
	}
	want := make([]byte, n)
	cipher.NewCTR(block, key[16:]).XORKeyStream(want, want)
	if !bytes.Equal(got, want) {
		t.Errorf("%d bytes, not those of one key stream of %d", len(got), n)
	}
	sum := sha256.Sum256(want)
	if s.SHA256() != hex.EncodeToString(sum[:]) {
		t.Errorf("digest %s, want %x", s.SHA256(), sum)
	}
	read, err := io.ReadAll(New(7, "s1", n).Reader())
	if err != nil || !bytes.Equal(read, want) {
		t.Errorf("the reader gives %d other bytes, %v", len(read), err)
	}
}

func TestSeedAndSessionMatter(t *testing.T) {
	first := all(t, New(1, "s1", 4096))
	for _, other := range []*Stream{New(2, "s1", 4096), New(1, "s2", 4096)} {
		if bytes.Equal(first, all(t, other)) {
			t.Error("two streams are alike")
		}
	}
}

// What was received is digested in two ways, whatever parts it comes in.
func TestReceivedHasBothDigests(t *testing.T) {
	r := NewReceived()
	for _, part := range []string{"1234", "", "56789"} {
		r.Write([]byte(part))
	}
	if sum := sha256.Sum256([]byte("123456789")); !bytes.Equal(r.Sum(nil), sum[:]) || *r.CRC32() != 0xcbf43926 {
		t.Errorf("SHA-256 %x, CRC-32 %x", r.Sum(nil), *r.CRC32())
	}
}

func BenchmarkNext(b *testing.B) {
	s := New(1, "s1", 1<<62)
	b.SetBytes(chunk)
	for b.Loop() {
		s.Next()
	}
}
