package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"ncp-testbed/internal/cli"
	"ncp-testbed/ncp-agent/overlay"
	"ncp-testbed/ncp-agent/policy"
)

// runOverlay is the subcommand overlay; it gives the exit code.
func runOverlay(arguments []string) int {
	flags := flag.NewFlagSet("ncp-sim overlay", flag.ContinueOnError)
	p := overlay.Default(0, 0)
	flags.IntVar(&p.Sessions, "sessions", 100, "how many sessions")
	flags.Uint64Var(&p.Seed, "seed", 1, "of all chances")
	flags.StringVar(&p.Policy, "policy", p.Policy, "window policy of all sessions")
	dir := flags.String("dir", ".", "the folder that takes overlay.json")
	if err := flags.Parse(arguments); err != nil {
		return cli.ExitBadInput
	}
	if flags.NArg() > 0 || !policy.Known(p.Policy) {
		return cli.BadInput(fmt.Sprintf("--policy %q and arguments %q: want a window policy and no argument", p.Policy, flags.Args()))
	}
	report, err := overlay.Run(p)
	if err != nil {
		return cli.BadInput(err)
	}
	text, err := json.MarshalIndent(report, "", " ")
	if err == nil {
		err = os.WriteFile(filepath.Join(*dir, "overlay.json"), append(text, '\n'), 0o644)
	}
	if err != nil {
		return cli.Failed(err)
	}
	fmt.Printf("%d sessions, %d packets, %.1f s of CPU, %.1f s, %.0f MiB\n",
		p.Sessions, report.Packets, report.Cost.CPUS, report.Cost.WallS, float64(report.Cost.PeakBytes)/(1<<20))
	return cli.ExitDone
}
