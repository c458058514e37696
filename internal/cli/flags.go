package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

// Flags are the options of a program, or of one of its verbs.
type Flags struct {
	*flag.FlagSet
	Operands int // arguments after the options

	usage string
}

// NewFlags returns a set without options, whose --help prints the usage, and
// the options that have a description.
func NewFlags(usage string) *Flags {
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	return &Flags{FlagSet: flags, usage: usage}
}

// Parse reads the arguments, of which the required options must be given and
// not be empty. If they are wrong or ask for help, it says so and returns the
// exit code with false.
func (f *Flags) Parse(arguments []string, required ...string) (code int, ok bool) {
	err := f.parse(arguments, required)
	if errors.Is(err, flag.ErrHelp) {
		f.help(os.Stdout)
		return ExitDone, false
	}
	if err != nil {
		return BadInput(err), false
	}
	return ExitDone, true
}

func (f *Flags) parse(arguments, required []string) error {
	if err := f.FlagSet.Parse(arguments); err != nil {
		return err
	}
	given := map[string]bool{}
	f.Visit(func(option *flag.Flag) {
		text, isText := option.Value.(flag.Getter) // an option that is a function has no value
		given[option.Name] = !isText || text.String() != ""
	})
	for _, name := range required {
		if !given[name] {
			return fmt.Errorf("--%s: not given", name)
		}
	}
	if f.NArg() > f.Operands {
		return fmt.Errorf("%q: want options and %d arguments after them", f.Arg(f.Operands), f.Operands)
	}
	if f.NArg() < f.Operands {
		return fmt.Errorf("%d arguments after the options, want %d", f.NArg(), f.Operands)
	}
	return nil
}

func (f *Flags) help(out io.Writer) {
	fmt.Fprintln(out, f.usage)
	described := false
	f.VisitAll(func(option *flag.Flag) { described = described || option.Usage != "" })
	if described {
		f.SetOutput(out)
		f.PrintDefaults()
	}
}
