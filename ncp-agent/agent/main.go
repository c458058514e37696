package agent

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"ncp-testbed/internal/cli"
	"ncp-testbed/internal/plan"
	"ncp-testbed/ncp-agent/config"
	"ncp-testbed/ncp-agent/policy"
)

const usage = `usage: ncp-agent sender|receiver --plan FILE --session NAME --dir DIR --control SOCKET [--credentials FILE]
       ncp-agent policies    the window policies, as JSON
       ncp-agent version`

// Main is the command of ncp-agent, whose policies may be more than this module's (policy.Add): it returns the exit code.
func Main(args []string) int {
	if len(args) == 0 {
		return cli.BadInput(usage)
	}
	switch verb := args[0]; verb {
	case Sender, Receiver:
		return oneEnd(verb, args[1:])
	case "policies":
		policy.Print(os.Stdout)
		return cli.ExitDone
	case "version":
		fmt.Println(version())
		return cli.ExitDone
	case "help", "-h", "--help":
		fmt.Println(usage)
		return cli.ExitDone
	default:
		return cli.BadInput(fmt.Sprintf("unknown verb %q\n%s", verb, usage))
	}
}

// version returns the source revision, where the build knows it, and Go's.
func version() string {
	revision := "unknown revision"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = s.Value
			}
		}
	}
	return fmt.Sprintf("ncp-agent %s %s plan schema %d", revision, runtime.Version(), plan.Schema)
}

// oneEnd is one end of a session, until its end or SIGTERM.
func oneEnd(role string, args []string) int {
	flags := cli.NewFlags(usage)
	file := flags.String("plan", "", "plan of the run (plan.json)")
	name := flags.String("session", "", "name of the session in the plan")
	dir := flags.String("dir", "", "folder for telemetry.lp and result.json")
	control := flags.String("control", "", "Unix socket for GET /state and POST /start")
	credentials := flags.String("credentials", "", "JSON file with InfluxDB's username and password; without it nothing is pushed")
	if code, ok := flags.Parse(args, "plan", "session", "dir", "control"); !ok {
		return code
	}
	o := Options{Role: role, Dir: *dir, Control: *control, Log: os.Stderr}
	var err error
	if o.Plan, err = config.Read(*file, *name); err != nil {
		return cli.BadInput(err)
	}
	if o.Credentials, err = o.Plan.Credentials(*credentials); err != nil {
		return cli.BadInput(err)
	}
	ctx, stop := cli.UntilSignal()
	defer stop()
	if err := Run(ctx, o); err != nil {
		return cli.Failed(err)
	}
	return cli.ExitDone
}
