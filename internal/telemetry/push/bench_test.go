package push

import (
	"io"
	"path/filepath"
	"testing"
	"time"

	"ncp-testbed/internal/telemetry"
)

// BenchmarkPushToInfluxDB is the rate at which a spool of an agent's points
// goes into a real InfluxDB.
func BenchmarkPushToInfluxDB(b *testing.B) {
	db := newInfluxDB(b)
	path := filepath.Join(b.TempDir(), "telemetry.lp")
	s, err := telemetry.OpenSpool(path)
	if err != nil {
		b.Fatal(err)
	}
	appendSamples(b, s, b.N)
	s.Close()
	b.ResetTimer()
	counts := Start(db.Config, login, io.Discard, path).Close(time.Hour)
	b.StopTimer()
	if counts.Pushed != b.N {
		b.Fatalf("counts %+v of %d", counts, b.N)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "points/s")
}

// BenchmarkAppend is what a point costs the component that samples it.
func BenchmarkAppend(b *testing.B) {
	s, err := telemetry.OpenSpool(filepath.Join(b.TempDir(), "telemetry.lp"))
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	b.ReportAllocs()
	appendSamples(b, s, b.N)
}

// appendSamples appends n points like those of an agent's connections, ten at
// a time.
func appendSamples(b *testing.B, s *telemetry.Spool, n int) {
	tags := telemetry.MakeTags(map[string]string{
		"run": "20261121-035200-3f9a", "scenario": "startup", "session": "s1", "role": "sender", "connection": "1", "policy": "nkp24",
	})
	var p telemetry.Points
	for i := range n {
		p.Add("ncp_connection", tags, time.Unix(1700000000, int64(i)*1000), telemetry.Float("delivered_pps", 1021.7), telemetry.Float("delivered_share", 0.887),
			telemetry.Float("window_packets", 3641.25+float64(i%100)), telemetry.Float("window_share", 0.889), telemetry.Int("in_flight_packets", 203), telemetry.Float("rto_ms", 512.5),
			telemetry.Int("sent", i), telemetry.Int("resent", 17), telemetry.Int("acked", i), telemetry.Int("lost", 3), telemetry.Float("rtt_ms", 171.375))
		if i%10 == 9 || i == n-1 {
			if err := s.Append(&p); err != nil {
				b.Fatal(err)
			}
		}
	}
}
