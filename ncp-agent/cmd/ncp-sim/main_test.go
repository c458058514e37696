package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// Who reads an earlier overlay.json has it whole: a new file takes its place.
func TestAnOverlaysReportTakesThePlaceOfAnEarlierOne(t *testing.T) {
	dir := t.TempDir()
	earlier, report := filepath.Join(dir, "earlier.json"), filepath.Join(dir, "overlay.json")
	err := os.WriteFile(earlier, []byte("before"), 0o644)
	if err == nil {
		err = os.Link(earlier, report)
	}
	if err != nil {
		t.Fatal(err)
	}
	if code := run([]string{"overlay", "--sessions", "2", "--dir", dir}); code != 0 {
		t.Fatalf("exit %d", code)
	}
	if text, err := os.ReadFile(earlier); string(text) != "before" {
		t.Errorf("%q (%v), want what was there", text, err)
	}
	var found map[string]any
	text, err := os.ReadFile(report)
	if err == nil {
		err = json.Unmarshal(text, &found)
	}
	if err != nil || len(found) == 0 {
		t.Errorf("%q (%v), want a report", text, err)
	}
}
