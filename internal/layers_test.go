// Package internal_test keeps the layers of the Go programs apart: what they share is here and knows none of them.
package internal_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "ncp-testbed/"

// below lists, for each top-level folder with Go sources of this module, which others it may import.
var below = map[string][]string{
	"cmd":        {"collectors", "internal", "schemas"},
	"collectors": {"internal", "schemas"},
	"examples":   {"ncp-agent"},
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

// core lists the state machines: packets and times go in, packets and the next deadline come out. They do no I/O, read no
// clock, and import only each other, so that sockets and the simulator can drive the same code.
var core = []string{
	"internal/cubic", "internal/linkmodel", "internal/payload", "internal/quantile", "internal/rtt", "internal/timing",
	"ncp-agent/policy", "ncp-agent/session", "ncp-agent/wire",
	"ndn-agent/fetch", "ndn-agent/forwarder", "ndn-agent/lp", "ndn-agent/marking", "ndn-agent/packet", "ndn-agent/produce", "ndn-agent/tlv",
}

// impure returns the imports that a package of the core must not have, of lines with a package and what it imports.
func impure(lines string) (wrong []string) {
	for line := range strings.Lines(lines) {
		paths := strings.Fields(line)
		if !slices.Contains(core, strings.TrimPrefix(paths[0], module)) {
			continue
		}
		for _, imported := range paths[1:] {
			own, ours := strings.CutPrefix(imported, module)
			first, rest, _ := strings.Cut(imported, "/")
			switch {
			case ours && slices.Contains(core, own):
			case imported == "net/netip" || imported == "net/url":
			case ours || first == "net" || first == "os" || first == "syscall" || strings.HasPrefix(rest, "x/"):
				wrong = append(wrong, paths[0]+" imports "+imported)
			}
		}
	}
	return wrong
}

// imports returns lines with each package of the module and what it imports by the given lists.
func imports(t *testing.T, lists ...string) string {
	t.Helper()
	format := "{{.ImportPath}}"
	for _, one := range lists {
		format += ` {{join .` + one + ` " "}}`
	}
	list := exec.Command("go", "list", "-f", format, "./...")
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
	return string(out)
}

func TestFoldersImportOnlyThoseBelow(t *testing.T) {
	out := imports(t, "Imports", "TestImports", "XTestImports")
	for _, w := range upward(out) {
		t.Error(w)
	}
	for folder := range below {
		if !strings.Contains("\n"+out, "\n"+module+folder) {
			t.Errorf("there is no folder %s", folder)
		}
	}
}

func TestTheCoreDoesNoIO(t *testing.T) {
	out := imports(t, "Imports")
	for _, w := range impure(out) {
		t.Error(w)
	}
	clock := regexp.MustCompile(`time\.(Now|Since|Until|Sleep|After|NewTimer|NewTicker)\(|timing\.Now\(`)
	for _, name := range core {
		if !strings.Contains("\n"+out, "\n"+module+name+" ") {
			t.Errorf("there is no package %s", name)
		}
		sources, _ := filepath.Glob("../" + name + "/*.go")
		for _, source := range sources {
			text, err := os.ReadFile(source)
			if err != nil {
				t.Fatal(err)
			}
			if reads := clock.Find(text); reads != nil && !strings.HasSuffix(source, "_test.go") && name != "internal/timing" {
				t.Errorf("%s: %s", source, reads)
			}
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

func TestIOInTheCoreIsFound(t *testing.T) {
	wrong := impure(`ncp-testbed/ncp-agent/session net/netip net/http os/signal time ncp-testbed/ncp-agent/policy ncp-testbed/internal/sockets
ncp-testbed/internal/linkmodel golang.org/x/sys/unix encoding/json
ncp-testbed/ncp-agent/endpoint net os
`)
	want := []string{
		"ncp-testbed/ncp-agent/session imports net/http", "ncp-testbed/ncp-agent/session imports os/signal",
		"ncp-testbed/ncp-agent/session imports ncp-testbed/internal/sockets", "ncp-testbed/internal/linkmodel imports golang.org/x/sys/unix",
	}
	if !slices.Equal(wrong, want) {
		t.Errorf("found %q, want %q", wrong, want)
	}
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
