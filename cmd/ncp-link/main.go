// Command ncp-link is the middle of a run's emulated links (relay) and the measure of them (probe, see
// docs/contracts.md). With echo, stream and load it measures any links, see package measure.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"ncp-testbed/internal/cli"
	"ncp-testbed/internal/plan"
)

const usage = `usage: ncp-link relay --plan FILE --dir DIR [--control SOCKET] [--credentials FILE] [--wait T] [--until-told]
       ncp-link bare --plan FILE
       ncp-link probe --plan FILE --netns HOST=PATH ... [--far HOST=SOCKET,OFFSET_NS ...] [--seconds N]
       ncp-link echo --from NETNS=ADDRESS --to ADDRESS [--count N] [--spacing T] [--wait T]
       ncp-link stream --from NETNS=ADDRESS --to NETNS=ADDRESS [--ip-bytes N] [--pps R] [--packets N] [--for T]
                       [--wait T] [--window T] [--send-buffer BYTES]
       ncp-link load --plan FILE --netns HOST=PATH ... [--pps R] [--for T]`

func main() {
	if len(os.Args) < 2 {
		os.Exit(cli.BadInput(usage))
	}
	var err error
	switch os.Args[1] {
	case "relay":
		err = runRelay(os.Args[2:])
	case "bare":
		err = runBare(os.Args[2:])
	case "probe":
		err = runProbe(os.Args[2:])
	case "echo":
		err = runEcho(os.Args[2:])
	case "stream":
		err = runStream(os.Args[2:])
	case "load":
		err = runLoad(os.Args[2:])
	case "-h", "--help", "help":
		fmt.Println(usage)
	default:
		err = badInput{fmt.Errorf("%q: want relay, bare, probe, echo, stream or load", os.Args[1])}
	}
	if errors.Is(err, flag.ErrHelp) {
		fmt.Println(usage)
		return
	}
	if errors.As(err, &badInput{}) {
		os.Exit(cli.BadInput(err))
	}
	if err != nil {
		os.Exit(cli.Failed(err))
	}
}

// badInput is an error of what the caller gave.
type badInput struct{ error }

func (b badInput) Unwrap() error { return b.error }

// parse reads flags, all of which must be flags, and those named must be given.
func parse(flags *flag.FlagSet, arguments []string, required ...string) error {
	flags.Usage = func() {} // main says what there is to say
	flags.SetOutput(io.Discard)
	if err := flags.Parse(arguments); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return badInput{err}
	}
	if flags.NArg() > 0 {
		return badInput{fmt.Errorf("%q: want options only", flags.Arg(0))}
	}
	for _, name := range required {
		if flags.Lookup(name).Value.String() == "" {
			return badInput{fmt.Errorf("--%s: not given", name)}
		}
	}
	return nil
}

func readPlan(path string) (*plan.Plan, error) {
	p, err := plan.Read(path)
	if err != nil {
		return nil, badInput{err}
	}
	return p, nil
}
