package telemetry

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whatever a file has, it is refused with its name, or has a user.
func FuzzReadCredentials(f *testing.F) {
	f.Add([]byte(`{"username": "u", "password": "p"}`))
	f.Add([]byte(`{"username": ""}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		file := filepath.Join(t.TempDir(), "credentials.json")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := ReadCredentials(file)
		if err == nil && c.Username == "" || err != nil && !strings.HasPrefix(err.Error(), file+": ") {
			t.Errorf("%q: %+v, %v", text, c, err)
		}
	})
}
