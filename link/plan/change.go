package plan

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"ncp-testbed/link/model"
)

// files are the properties that are kept in files of their own, named relative to the plan.
type files struct {
	Trace  string `json:"trace_file"`  // mahimahi's format
	Jitter string `json:"jitter_file"` // milliseconds, one per line
}

// ParseChange reads a change as [model.ParseChange] does, and the files that it names by trace_file and
// jitter_file, relative to the directory.
func ParseChange(text []byte, directory string) (model.Change, error) {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(text, &keys); err != nil {
		return model.Change{}, err
	}
	delete(keys, "trace_file")
	delete(keys, "jitter_file")
	known, err := json.Marshal(keys)
	if err != nil {
		return model.Change{}, err
	}
	if _, err := model.ParseChange(known); err != nil {
		return model.Change{}, err
	}
	c, err := decodeChange(text, directory)
	if err != nil {
		return model.Change{}, err
	}
	return c, c.Validate()
}

// decodeChange ignores keys that are not of a change, and does not validate.
func decodeChange(text []byte, directory string) (model.Change, error) {
	var c model.Change
	if err := json.Unmarshal(text, &c); err != nil {
		return c, err
	}
	var f files
	if err := json.Unmarshal(text, &f); err != nil {
		return c, err
	}
	return c, f.read(&c, directory)
}

func (f *files) read(c *model.Change, directory string) error {
	if f.Trace != "" {
		text, err := os.ReadFile(beside(directory, f.Trace))
		if err != nil {
			return fmt.Errorf("trace_file: %w", err)
		}
		trace, err := model.ParseTrace(text)
		if err != nil {
			return fmt.Errorf("trace_file: %s: %w", f.Trace, err)
		}
		c.Trace = &trace
	}
	if f.Jitter != "" {
		text, err := os.ReadFile(beside(directory, f.Jitter))
		if err != nil {
			return fmt.Errorf("jitter_file: %w", err)
		}
		samples, err := parseSamples(string(text))
		if err != nil {
			return fmt.Errorf("jitter_file: %s: %w", f.Jitter, err)
		}
		kind := model.JitterSamples
		c.JitterSamplesMS, c.JitterKind = &samples, &kind
	}
	return nil
}

func beside(directory, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(directory, name)
}

func parseSamples(text string) ([]float64, error) {
	var samples []float64
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		ms, err := strconv.ParseFloat(line, 64)
		if err != nil {
			return nil, fmt.Errorf("line %d: %q, want milliseconds", i+1, line)
		}
		samples = append(samples, ms)
	}
	if len(samples) == 0 {
		return nil, fmt.Errorf("no sample, want milliseconds, one per line")
	}
	return samples, nil
}
