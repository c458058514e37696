package relay

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// Result is DIR/result.json of the relay.
type Result struct {
	Schema  int          `json:"schema"`
	Run     string       `json:"run"`
	Seconds float64      `json:"seconds"`
	Granted Granted      `json:"granted"`
	Links   []LinkResult `json:"links"`
	Changes []Change     `json:"changes"`
}

// Write replaces the file in one step.
func (r *Result) Write(directory string) error {
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	temporary := filepath.Join(directory, "result.json.new")
	if err := os.WriteFile(temporary, append(text, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(temporary, filepath.Join(directory, "result.json"))
}
