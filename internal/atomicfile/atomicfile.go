// Package atomicfile writes results: after a crash or on a full disk, a file is
// there whole, or as it was before.
package atomicfile

import (
	"encoding/json"
	"errors"
	"os"
)

// Write replaces a file by a value as JSON.
func Write(file string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	temporary := file + ".new"
	err = write(temporary, append(text, '\n'))
	if err == nil {
		err = os.Rename(temporary, file)
	}
	if err != nil {
		_ = os.Remove(temporary) // may not be there
	}
	return err
}

// write returns when the file is on the disk.
func write(file string, text []byte) error {
	to, err := os.Create(file)
	if err != nil {
		return err
	}
	_, err = to.Write(text)
	return errors.Join(err, to.Sync(), to.Close())
}
