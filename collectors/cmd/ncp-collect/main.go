// Command ncp-collect samples interfaces, queues, sockets and TCP_INFO in the network namespaces of a run into
// spools (see docs/collectors.md). It ends on SIGTERM or SIGINT and prints what each collector did and cost.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"ncp-testbed/collectors/collect"
	"ncp-testbed/collectors/watch"
)

// Exit codes, the same in all programs of the testbed.
const (
	exitDone   = 0
	exitFailed = 1
	exitBad    = 2
)

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	flags := flag.NewFlagSet("ncp-collect", flag.ContinueOnError)
	file := flags.String("watch", "", "what to sample (JSON)")
	directory := flags.String("dir", "", "folder of the spools")
	if err := flags.Parse(args); err != nil {
		return exitBad
	}
	if *file == "" || *directory == "" || flags.NArg() > 0 {
		return told(exitBad, "usage: ncp-collect --watch FILE --dir DIR")
	}
	list, err := watch.Read(*file)
	if err != nil {
		return told(exitBad, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	results, err := collect.Run(ctx, list, *directory, os.Stderr)
	if err != nil {
		return told(exitFailed, err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(map[string]any{"collectors": results}); err != nil {
		return told(exitFailed, err)
	}
	return exitDone
}

func told(code int, message any) int {
	fmt.Fprintln(os.Stderr, "ncp-collect:", message)
	return code
}
