package remote

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// Whatever is requested, it is refused, or a measurement with an interval that makes sense.
func FuzzDecodeMeasurement(f *testing.F) {
	f.Add(`{"to": "127.0.0.1:1", "key": 7, "packets": 3, "interval_ms": 5}`)
	f.Add(`{"to": "nowhere", "interval_ms": 5}`)
	f.Add(`{"interval_ms": 0}`)
	f.Fuzz(func(t *testing.T, body string) {
		_, options, err := decodeMeasurement(httptest.NewRequest("POST", "/measure", strings.NewReader(body)))
		if err == nil && (options.Interval < time.Millisecond || options.Interval > 10*time.Second || options.Timeout <= 0) {
			t.Errorf("%q: taken as %+v", body, options)
		}
	})
}
