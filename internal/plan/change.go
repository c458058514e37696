package plan

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"ncp-testbed/internal/linkmodel"
)

// ParseChange reads a change as [linkmodel.ParseChange] does, and the files that it names by trace_file (in mahimahi's
// format) and jitter_file (milliseconds, one per line), relative to the directory.
func ParseChange(text []byte, directory string) (linkmodel.Change, error) {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(text, &keys); err != nil {
		return linkmodel.Change{}, err
	}
	if err := withFiles(keys, directory); err != nil {
		return linkmodel.Change{}, err
	}
	text, err := json.Marshal(keys)
	if err != nil {
		return linkmodel.Change{}, err
	}
	return linkmodel.ParseChange(text)
}

// withFiles puts what files have in the place of the keys that name them.
func withFiles(keys map[string]json.RawMessage, directory string) error {
	err := withFile(keys, "trace_file", directory, func(text []byte) (map[string]any, error) {
		trace, err := linkmodel.ParseTrace(text)
		return map[string]any{"trace_ms": trace}, err
	})
	if err != nil {
		return err
	}
	return withFile(keys, "jitter_file", directory, func(text []byte) (map[string]any, error) {
		samples, err := linkmodel.ParseSamples(text)
		return map[string]any{"jitter_samples_ms": samples, "jitter": linkmodel.JitterSamples}, err
	})
}

// withFile puts the properties that are in a file in the place of the key that names it.
func withFile(
	keys map[string]json.RawMessage, key, directory string, read func([]byte) (map[string]any, error),
) error {
	var name string
	if err := json.Unmarshal(keys[key], &name); keys[key] != nil && err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	delete(keys, key)
	if name == "" {
		return nil
	}
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(directory, name)
	}
	text, err := readNumbers(path)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	properties, err := read(text)
	if err != nil {
		return fmt.Errorf("%s: %s: %w", key, name, err)
	}
	for property, value := range properties {
		if keys[property], err = json.Marshal(value); err != nil {
			return fmt.Errorf("%s: %s: %w", key, name, err)
		}
	}
	return nil
}
