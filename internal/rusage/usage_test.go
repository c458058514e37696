package rusage

import "testing"

func TestGrowsWithUse(t *testing.T) {
	before, cpu := PeakBytes(), CPU()
	if before < 1<<20 {
		t.Fatalf("%d bytes, less than any Go program has", before)
	}
	held := make([]byte, 64<<20)
	for i := range held {
		held[i] = byte(i)
	}
	if after := PeakBytes(); after < before+32<<20 {
		t.Errorf("%d bytes before 64 MiB were used, %d after", before, after)
	}
	if CPU() < cpu {
		t.Error("CPU time went back")
	}
	_ = held[len(held)-1]
}
