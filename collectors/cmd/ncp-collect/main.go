// Command ncp-collect samples interfaces, queues, sockets and TCP_INFO in the network namespaces of a run into
// spools (see docs/collectors.md). It ends on SIGTERM or SIGINT and prints what each collector did and cost. With
// --list it prints the collectors' names.
package main

import (
	"encoding/json"
	"flag"
	"os"

	"ncp-testbed/collectors/collect"
	"ncp-testbed/collectors/watch"
	"ncp-testbed/internal/cli"
)

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	flags := flag.NewFlagSet("ncp-collect", flag.ContinueOnError)
	file := flags.String("watch", "", "what to sample (JSON)")
	directory := flags.String("dir", "", "folder of the spools")
	names := flags.Bool("list", false, "print the collectors' names (JSON), and do nothing")
	if err := flags.Parse(args); err != nil {
		return cli.ExitBadInput
	}
	if *names {
		return printed(collect.Names())
	}
	if *file == "" || *directory == "" || flags.NArg() > 0 {
		return cli.BadInput("usage: ncp-collect --watch FILE --dir DIR")
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
