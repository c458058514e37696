package main

import (
	"fmt"
	"path/filepath"

	"ncp-testbed/internal/atomicfile"
	"ncp-testbed/internal/cli"
	"ncp-testbed/ncp-agent/overlay"
	"ncp-testbed/ncp-agent/policy"
)

// runOverlay is the subcommand overlay; it returns the exit code.
func runOverlay(arguments []string) int {
	flags := cli.NewFlags(usage)
	p := overlay.Default(0, 0)
	flags.IntVar(&p.Sessions, "sessions", 100, "how many sessions")
	flags.Uint64Var(&p.Seed, "seed", 1, "of all chances")
	flags.StringVar(&p.Policy, "policy", p.Policy, "window policy of all sessions")
	dir := flags.String("dir", ".", "the folder that takes overlay.json")
	if code, ok := flags.Parse(arguments); !ok {
		return code
	}
	if !policy.Known(p.Policy) {
		return cli.BadInput(fmt.Sprintf("--policy: %q is no window policy", p.Policy))
	}
	report, err := overlay.Run(p)
	if err != nil {
		return cli.BadInput(err)
	}
	if err := atomicfile.Write(filepath.Join(*dir, "overlay.json"), report); err != nil {
		return cli.Failed(err)
	}
	fmt.Printf("%d sessions, %d packets, %.1f s of CPU, %.1f s, %.0f MiB\n",
		p.Sessions, report.Packets, report.Cost.CPUS, report.Cost.WallS, float64(report.Cost.PeakBytes)/(1<<20))
	return cli.ExitDone
}
