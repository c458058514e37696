// Command ncp-link is the middle of a run's emulated links (relay) and the measure of them (probe, see
// docs/contracts.md). With echo, stream and load it measures any links, see package measure.
package main

import (
	"fmt"
	"os"

	"ncp-testbed/internal/cli"
)

const usage = `usage: ncp-link relay --plan FILE --dir DIR [--control SOCKET] [--credentials FILE] [--wait T] [--until-told]
       ncp-link bare --plan FILE
       ncp-link probe --plan FILE --netns HOST=PATH ... [--far HOST=SOCKET,OFFSET_NS ...] [--seconds N]
       ncp-link echo --from NETNS=ADDRESS --to ADDRESS [--count N] [--spacing T] [--wait T]
       ncp-link stream --from NETNS=ADDRESS --to NETNS=ADDRESS [--ip-bytes N] [--pps R] [--packets N] [--for T]
                       [--wait T] [--window T] [--send-buffer BYTES]
       ncp-link load --plan FILE --netns HOST=PATH ... [--pps R] [--for T]`

func main() { os.Exit(run(os.Args[1:])) }

func run(arguments []string) int {
	if len(arguments) == 0 {
		return cli.BadInput(usage)
	}
	verb, arguments := arguments[0], arguments[1:]
	switch verb {
	case "relay":
		return runRelay(arguments)
	case "bare":
		return runBare(arguments)
	case "probe":
		return runProbe(arguments)
	case "echo":
		return runEcho(arguments)
	case "stream":
		return runStream(arguments)
	case "load":
		return runLoad(arguments)
	case "-h", "--help", "help":
		fmt.Println(usage)
		return cli.ExitDone
	}
	return cli.BadInput(fmt.Errorf("%q: want relay, bare, probe, echo, stream or load", verb))
}

// finished returns the exit code of what has run to its end.
func finished(err error) int {
	if err != nil {
		return cli.Failed(err)
	}
	return cli.ExitDone
}
