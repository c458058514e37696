// Command ncp-sim runs a plan in virtual time. It leaves telemetry.lp, events.csv, sim.json and agents/ in the folder. It
// ends with 1 if a transfer did not come to its end, with 2 for a plan that
// makes no sense.
package main

import (
	"fmt"
	"os"

	"ncp-testbed/internal/cli"
	"ncp-testbed/ncp-agent/policy"
	"ncp-testbed/ncp-agent/simrun"
)

const usage = `usage: ncp-sim --plan FILE [--dir DIR] [--zeros]
       ncp-sim overlay [--sessions N] [--seed S] [--policy NAME] [--dir DIR]    an overlay network, to overlay.json
       ncp-sim policies    the window policies, as JSON`

func main() { os.Exit(run(os.Args[1:])) }

func run(arguments []string) int {
	if len(arguments) == 1 && arguments[0] == "policies" {
		policy.Print(os.Stdout)
		return cli.ExitDone
	}
	if len(arguments) > 0 && arguments[0] == "overlay" {
		return runOverlay(arguments[1:])
	}
	flags := cli.NewFlags(usage)
	plan := flags.String("plan", "", "plan of the run (plan.json)")
	dir := flags.String("dir", ".", "folder for the results")
	zeros := flags.Bool("zeros", false, "send zeros, and hash nothing: to measure what the simulation alone costs")
	if code, ok := flags.Parse(arguments, "plan"); !ok {
		return code
	}
	simulate := simrun.Run
	if *zeros {
		simulate = simrun.RunZeros
	}
	facts, err := simulate(*plan, *dir)
	switch {
	case err == nil:
		fmt.Printf("%.3f virtual s, %d packets, %d points\n", facts.VirtualS, facts.Packets, facts.Points)
		return cli.ExitDone
	case cli.OfTheMachine(err):
		return cli.Unsupported(err)
	case facts != nil:
		return cli.Failed(err)
	}
	return cli.BadInput(err)
}
