// Package agents_test keeps the rooms of the Go programs apart: what they share lives here, beside them.
package agents_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "ncp-testbed/"

// below lists which rooms a room may import besides itself. Those that are not named import any.
var below = map[string][]string{
	"agents":    {"program"},
	"ncp-agent": {"agents", "link", "program", "schemas", "telemetry"},
	"ndn-agent": {"agents", "program", "schemas", "telemetry"},
	"link":      {"program", "schemas", "telemetry"},
	"program":   {},
	"schemas":   {},
	"tcp":       {"agents", "program"},
	"telemetry": {"program", "schemas"},
}

// upward finds imports of rooms that a room must not know, in lines of a package and what it and its tests import.
func upward(lines string) (wrong []string) {
	room := func(path string) string {
		first, _, _ := strings.Cut(strings.TrimPrefix(path, module), "/")
		return first
	}
	for line := range strings.Lines(lines) {
		paths := strings.Fields(line)
		may, named := below[room(paths[0])]
		for _, imported := range paths[1:] {
			r := room(imported)
			if named && strings.HasPrefix(imported, module) && r != room(paths[0]) && !slices.Contains(may, r) {
				wrong = append(wrong, paths[0]+" imports "+imported)
			}
		}
	}
	return wrong
}

func TestRoomsImportOnlyRoomsBelow(t *testing.T) {
	list := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}} {{join .TestImports " "}} {{join .XTestImports " "}}`, "./...")
	list.Dir = ".."
	// That program's files are no inputs of this test to Go, which would reuse its result whatever became of them.
	for room := range below {
		if err := filepath.WalkDir("../"+room, look); err != nil {
			t.Fatal(err)
		}
	}
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range upward(string(out)) {
		t.Error(w)
	}
	for room := range below {
		if !strings.Contains(string(out), "\n"+module+room) && !strings.HasPrefix(string(out), module+room) {
			t.Errorf("there is no room %s", room)
		}
	}
}

// look makes a file or folder an input of the test.
func look(path string, _ fs.DirEntry, err error) error {
	if err == nil {
		_, err = os.Stat(path)
	}
	return err
}

func TestAnImportUpwardIsFound(t *testing.T) {
	wrong := upward(`ncp-testbed/ndn-agent/drive fmt ncp-testbed/agents/sockets ncp-testbed/ndn-agent/lp
ncp-testbed/ndn-agent/fetch ncp-testbed/ncp-agent/policy
ncp-testbed/agents/payload io ncp-testbed/ndn-agent/lp
`)
	want := []string{
		"ncp-testbed/ndn-agent/fetch imports ncp-testbed/ncp-agent/policy",
		"ncp-testbed/agents/payload imports ncp-testbed/ndn-agent/lp",
	}
	if !slices.Equal(wrong, want) {
		t.Errorf("found %q, want %q", wrong, want)
	}
}
