package cli

import (
	"flag"
	"strings"
	"testing"
)

func TestFlags(t *testing.T) {
	parsed := func(operands int, arguments ...string) (*Flags, error) {
		f := NewFlags("usage: x")
		f.Operands = operands
		f.String("plan", "", "")
		f.Int("count", 7, "")
		f.Func("netns", "", func(string) error { return nil })
		return f, f.parse(arguments, []string{"plan", "netns"})
	}
	for _, c := range []struct {
		operands  int
		arguments string
		want      string // "": no error
	}{
		{0, "--plan p --netns n", ""},
		{0, "--plan p --netns n --count 0", ""},
		{1, "--plan p --netns n NAME", ""},
		{0, "--netns n", "--plan: not given"},
		{0, "--plan= --netns n", "--plan: not given"},
		{0, "--plan p", "--netns: not given"},
		{0, "--plan p --netns n rest", `"rest": want options`},
		{1, "--plan p --netns n", "0 arguments after the options, want 1"},
		{1, "--plan p --netns n NAME rest", `"rest": want`},
		{0, "--plan p --count many", `invalid value "many" for flag -count`},
		{0, "--plan p --what", "-what"},
		{0, "--help", flag.ErrHelp.Error()},
	} {
		_, err := parsed(c.operands, strings.Fields(c.arguments)...)
		if c.want == "" && err == nil || c.want != "" && err != nil && strings.Contains(err.Error(), c.want) {
			continue
		}
		t.Errorf("%s: %v, want %q", c.arguments, err, c.want)
	}
}

func TestHelp(t *testing.T) {
	var bare, described strings.Builder
	f := NewFlags("usage: x")
	f.String("plan", "", "")
	f.help(&bare)
	f.String("dir", ".", "where results go")
	f.help(&described)
	if bare.String() != "usage: x\n" || !strings.Contains(described.String(), "where results go") {
		t.Errorf("help %q and %q", bare.String(), described.String())
	}
}
