// Command ndn-agent is an NDN node: a consumer, a forwarder or a producer. See
// docs/results/ndn.md for its arguments and files.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime"

	"ncp-testbed/internal/cli"
	"ncp-testbed/internal/plan"
	"ncp-testbed/ndn-agent/agent"
	"ncp-testbed/ndn-agent/config"
)

const usage = `usage: ndn-agent run --plan FILE --node HOST --dir DIR --control SOCKET [--credentials FILE]
       ndn-agent forward --listen udp://HOST:PORT …     a forwarder on its own
       ndn-agent get --face udp://HOST:PORT NAME        fetch an object
       ndn-agent put --listen udp://HOST:PORT NAME      offer an object
       ndn-agent VERB --help                            all flags
       ndn-agent version`

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	if len(args) == 0 {
		return cli.BadInput(usage)
	}
	if alone, ok := verbs[args[0]]; ok {
		return alone(args[1:])
	}
	switch verb := args[0]; verb {
	case "run":
		return node(args[1:])
	case "version":
		fmt.Printf("ndn-agent %s plan schema %d\n", runtime.Version(), plan.Schema)
		return cli.ExitDone
	case "help", "-h", "--help":
		fmt.Println(usage)
		return cli.ExitDone
	default:
		return cli.BadInput(fmt.Sprintf("unknown verb %q\n%s", verb, usage))
	}
}

// node is one node of a plan, until its end or SIGTERM.
func node(args []string) int {
	flags := cli.NewFlags(usage)
	file := flags.String("plan", "", "plan of the run (plan.json)")
	host := flags.String("node", "", "host of the node in the plan")
	dir := flags.String("dir", "", "folder for telemetry.lp, result.json and, of a consumer, segments.csv")
	control := flags.String("control", "", "Unix socket for GET /state and POST /start")
	credentials := flags.String("credentials", "", "JSON file with InfluxDB's username and password; without it nothing is pushed")
	if code, ok := flags.Parse(args, "plan", "node", "dir", "control"); !ok {
		return code
	}
	o := agent.Options{Dir: *dir, Control: *control, Log: os.Stderr}
	var err error
	if o.Plan, err = config.Read(*file, *host); err != nil {
		return cli.BadInput(err)
	}
	if o.Credentials, err = o.Plan.Credentials(*credentials); err != nil {
		return cli.BadInput(err)
	}
	return until(func(ctx context.Context) error { return agent.Run(ctx, o) })
}

// until runs something until its end or a signal.
func until(work func(context.Context) error) int {
	ctx, stop := cli.UntilSignal()
	defer stop()
	if err := work(ctx); err != nil {
		return cli.Failed(err)
	}
	return cli.ExitDone
}
