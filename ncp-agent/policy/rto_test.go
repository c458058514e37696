package policy

import (
	"math"
	"testing"
	"time"

	"ncp-testbed/internal/timing"
)

func TestUpstreamRTO(t *testing.T) {
	const maxRTO = 10 * time.Second
	rto, want := 5*time.Second, 5.0
	for _, sample := range []float64{0.1, 0.15, 3, 4, 4} {
		rto = UpstreamRTO(rto, timing.Seconds(sample), maxRTO)
		want = min(10, want+0.1*math.Tanh(3*sample-want))
		if math.Abs(rto.Seconds()-want) > 1e-6 {
			t.Fatalf("RTO %v after RTT %v s, want %.6f s", rto, sample, want)
		}
	}
	for range 200 {
		rto = UpstreamRTO(rto, 8*time.Second, maxRTO)
	}
	if rto != maxRTO {
		t.Errorf("RTO %v, want the maximum", rto)
	}
}
