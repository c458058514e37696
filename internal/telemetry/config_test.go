package telemetry

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPlanErrorsNameTheField(t *testing.T) {
	file := filepath.Join(t.TempDir(), "plan.json")
	for text, want := range map[string]string{
		`{"telemetry": {"interval_ms": 0, "url": "http://x", "database": "d"}}`: "telemetry.interval_ms: 0, want",
		`{"telemetry": {"interval_ms": 1, "url": "x:1", "database": "d"}}`:      `telemetry.url: "x:1", want`,
		`{"telemetry": {"interval_ms": 1, "url": "http://x"}}`:                  "telemetry.database: empty, want",
		`{`: "not the JSON",
	} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadPlan(file); err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q in %s", text, err, want, file)
		}
	}
}
