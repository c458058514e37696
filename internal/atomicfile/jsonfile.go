// Package atomicfile writes results.
package atomicfile

import (
	"encoding/json"
	"os"
)

// Write puts a value as JSON into a file, whole or not at all.
func Write(file string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	temporary := file + ".new"
	if err := os.WriteFile(temporary, append(text, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(temporary, file)
}
