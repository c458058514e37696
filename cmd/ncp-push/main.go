// Command ncp-push tails line protocol spools that others write and pushes
// them to InfluxDB. It ends on SIGTERM or SIGINT, after a drain, and prints how
// many points it saw, pushed, and had rejected. Exit 0 says that the spools were
// read to their ends and that InfluxDB has every point.
package main

import (
	"encoding/json"
	"os"
	"time"

	"ncp-testbed/internal/cli"
	"ncp-testbed/internal/plan"
	"ncp-testbed/internal/telemetry/push"
)

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	var spools []string
	flags := cli.NewFlags("usage: ncp-push --plan FILE --spool FILE … --credentials FILE [--drain T]")
	planPath := flags.String("plan", "", "plan of the run (plan.json)")
	credentials := flags.String("credentials", "", `JSON file {"username": "", "password": ""}`)
	drain := flags.Duration("drain", 8*time.Second, "longest time to push the rest at the end")
	flags.Func("spool", "line protocol `file` to tail; may be given more than once, and appear later", func(path string) error {
		spools = append(spools, path)
		return nil
	})
	if code, ok := flags.Parse(args, "plan", "spool", "credentials"); !ok {
		return code
	}
	p, err := plan.ReadTraffic(*planPath)
	if err != nil {
		return cli.BadInput(err)
	}
	login, err := p.Credentials(*credentials)
	if err != nil {
		return cli.BadInput(err)
	}

	ended, stop := cli.UntilSignal()
	defer stop()
	pusher := push.Start(p.Telemetry, *login, os.Stderr, spools...)
	<-ended.Done()
	counts := pusher.Close(*drain)
	json.NewEncoder(os.Stdout).Encode(counts)
	if counts.Pushed != counts.Points || pusher.Err() != nil {
		return cli.ExitFailed
	}
	return cli.ExitDone
}
