// Package internal_test keeps the layers of the Go programs apart: what they share is here and knows none of them.
package internal_test

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

// below lists, for each top-level folder with Go sources of this module, which others it may import.
var below = map[string][]string{
	"cmd":        {"collectors", "internal", "schemas"},
	"collectors": {"internal", "schemas"},
	"internal":   {"schemas"},
	"ncp-agent":  {"internal", "schemas"},
	"ndn-agent":  {"internal", "schemas"},
	"schemas":    {},
}

func folder(path string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, module), "/")
	return first
}

// upward returns the imports that a folder must not have, of lines with a package and what it and its tests import. A
// folder that is not named may have none.
func upward(lines string) (wrong []string) {
	for line := range strings.Lines(lines) {
		paths := strings.Fields(line)
		own := folder(paths[0])
		if _, named := below[own]; !named {
			wrong = append(wrong, paths[0]+" is in no layer")
		}
		for _, imported := range paths[1:] {
			other := folder(imported)
			if strings.HasPrefix(imported, module) && other != own && !slices.Contains(below[own], other) {
				wrong = append(wrong, paths[0]+" imports "+imported)
			}
		}
	}
	return wrong
}

func TestFoldersImportOnlyThoseBelow(t *testing.T) {
	list := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}} {{join .TestImports " "}} {{join .XTestImports " "}}`, "./...")
	list.Dir = ".."
	// That program's files are no inputs of this test to Go, which would reuse its result whatever became of them.
	for folder := range below {
		if err := filepath.WalkDir("../"+folder, look); err != nil {
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
	for folder := range below {
		if !strings.Contains(string(out), "\n"+module+folder) && !strings.HasPrefix(string(out), module+folder) {
			t.Errorf("there is no folder %s", folder)
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
	wrong := upward(`ncp-testbed/ndn-agent/faces fmt ncp-testbed/internal/sockets ncp-testbed/ndn-agent/lp
ncp-testbed/ndn-agent/fetch ncp-testbed/ncp-agent/policy
ncp-testbed/internal/payload io ncp-testbed/ndn-agent/lp
ncp-testbed/far/echo fmt
`)
	want := []string{
		"ncp-testbed/ndn-agent/fetch imports ncp-testbed/ncp-agent/policy",
		"ncp-testbed/internal/payload imports ncp-testbed/ndn-agent/lp",
		"ncp-testbed/far/echo is in no layer",
	}
	if !slices.Equal(wrong, want) {
		t.Errorf("found %q, want %q", wrong, want)
	}
}
