// Command ncp-sim runs a plan in virtual time:
//
//	ncp-sim --plan plan.json --dir FOLDER
//	ncp-sim policies        the window policies, as JSON
//	ncp-sim overlay --sessions N --seed S --dir FOLDER
//	                        an overlay network out of a seed, to overlay.json
//
// It leaves telemetry.lp, events.csv, sim.json and agents/ in the folder. It
// ends with 1 if a transfer did not come to its end, with 2 for a plan that
// makes no sense.
package main

import (
	"flag"
	"fmt"
	"os"

	"ncp-testbed/internal/cli"
	"ncp-testbed/ncp-agent/policy"
	"ncp-testbed/ncp-agent/simrun"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "policies" {
		policy.Print(os.Stdout)
		return
	}
	if len(os.Args) > 1 && os.Args[1] == "overlay" {
		os.Exit(runOverlay(os.Args[2:]))
	}
	plan := flag.String("plan", "", "the run's plan.json")
	dir := flag.String("dir", ".", "the folder that takes the results")
	zeros := flag.Bool("zeros", false, "send zeros, and hash nothing: to measure what the simulation alone costs")
	flag.Parse()
	if *plan == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(cli.ExitBadInput)
	}
	run := simrun.Run
	if *zeros {
		run = simrun.RunZeros
	}
	facts, err := run(*plan, *dir)
	switch {
	case err == nil:
		fmt.Printf("%.3f virtual s, %d packets, %d points\n", facts.VirtualS, facts.Packets, facts.Points)
	case cli.OfTheMachine(err):
		os.Exit(cli.Unsupported(err))
	case facts != nil:
		os.Exit(cli.Failed(err))
	default:
		os.Exit(cli.BadInput(err))
	}
}
