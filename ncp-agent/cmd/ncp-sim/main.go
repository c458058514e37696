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

	"ncp-testbed/ncp-agent/policy"
	"ncp-testbed/ncp-agent/virtual"
	"ncp-testbed/program"
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
		os.Exit(program.ExitBadInput)
	}
	run := virtual.Run
	if *zeros {
		run = virtual.RunZeros
	}
	facts, err := run(*plan, *dir)
	switch {
	case err == nil:
		fmt.Printf("%.3f virtual s, %d packets, %d points\n", facts.VirtualS, facts.Packets, facts.Points)
	case program.OfTheMachine(err):
		os.Exit(program.Unsupported(err))
	case facts != nil:
		os.Exit(program.Failed(err))
	default:
		os.Exit(program.BadInput(err))
	}
}
