// Command ncp-collect samples interfaces, queues, sockets and TCP_INFO in the network namespaces of a run into
// spools (see docs/dashboards.md). It ends on SIGTERM or SIGINT and prints what each collector did and cost. With
// --list it prints the collectors' names.
package main

import (
	"encoding/json"
	"os"

	"ncp-testbed/collectors/collect"
	"ncp-testbed/collectors/watch"
	"ncp-testbed/internal/cli"
)

const usage = `usage: ncp-collect --watch FILE --dir DIR
       ncp-collect --list    the collectors' names, as JSON`

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	flags := cli.NewFlags(usage)
	file := flags.String("watch", "", "what to sample (JSON)")
	directory := flags.String("dir", "", "folder of the spools")
	if len(args) == 1 && args[0] == "--list" {
		return printed(collect.Names())
	}
	if code, ok := flags.Parse(args, "watch", "dir"); !ok {
		return code
	}
	list, err := watch.Read(*file)
	if err != nil {
		return cli.BadInput(err)
	}
	ctx, stop := cli.UntilSignal()
	defer stop()
	results, err := collect.Run(ctx, list, *directory, os.Stderr)
	if err != nil {
		return cli.Failed(err)
	}
	return printed(map[string]any{"collectors": results})
}

func printed(document any) int {
	if err := json.NewEncoder(os.Stdout).Encode(document); err != nil {
		return cli.Failed(err)
	}
	return cli.ExitDone
}
