package relay

import (
	"encoding/json"
	"os"
	"path/filepath"

	"ncp-testbed/internal/telemetry"
)

// Result is DIR/result.json of the relay.
type Result struct {
	Schema  int     `json:"schema"`
	Run     string  `json:"run"`
	Seconds float64 `json:"seconds"`
	// CPUSeconds is what the relay took of the machine's CPU time.
	CPUSeconds float64 `json:"cpu_s"`
	Granted    Granted `json:"granted"`
	// RingDrops are frames, of any link, that the kernel dropped because the relay did not come to read in
	// time. Nobody asked for that.
	RingDrops uint64       `json:"ring_drops"`
	Links     []LinkResult `json:"links"`
	Changes   []Change     `json:"changes"`
	// Telemetry tells what became of the points, if they were pushed.
	Telemetry *telemetry.Counts `json:"telemetry,omitempty"`
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
