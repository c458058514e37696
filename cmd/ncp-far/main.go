// Command ncp-far does on a machine with hosts of a run what has to be done there (serve), and measures the network to
// such a machine (measure).
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"ncp-testbed/collectors/collect"
	"ncp-testbed/collectors/watch"
	"ncp-testbed/internal/cli"
	"ncp-testbed/internal/clocksync"
	"ncp-testbed/internal/controlsocket"
	"ncp-testbed/internal/remote"
)

const usage = `usage: ncp-far serve --dir DIR --listen ADDRESS:PORT --key N
       ncp-far measure --to ADDRESS:PORT --key N [--packets N] [--interval T] [--timeout T] [--mtu BYTES]
       ncp-far runs
       ncp-far hold
       ncp-far forget RUN`

// folder is that of all runs on a machine, whose /run is at /machine/run.
const folder = "/machine/run/ncp-testbed-far"

// maxRequestBytes is room for a request about 255 links.
const maxRequestBytes = 4 << 20

func main() { os.Exit(run(os.Args[1:])) }

func run(arguments []string) int {
	if len(arguments) == 0 {
		return cli.BadInput(usage)
	}
	ctx, stop := cli.UntilSignal()
	defer stop()
	switch arguments[0] {
	case "serve":
		return runServe(ctx, arguments[1:])
	case "measure":
		return runMeasure(ctx, arguments[1:])
	case "runs":
		return runRuns(arguments[1:])
	case "hold": // of a container whose network is a host's without an agent
		<-ctx.Done()
		return cli.ExitDone
	case "forget":
		return runForget(arguments[1:])
	}
	return cli.BadInput(usage)
}

// runServe answers the runner until it is stopped; its folder is empty then.
func runServe(ctx context.Context, arguments []string) int {
	flags := cli.NewFlags(usage)
	folder := flags.String("dir", "", "")
	listen := flags.String("listen", "", "")
	key := flags.Uint64("key", 0, "")
	if code, ok := flags.Parse(arguments, "dir", "listen"); !ok {
		return code
	}
	server, err := controlsocket.ServeBodies(filepath.Join(*folder, "far.sock"), remote.New(*folder, collector).Handler(), maxRequestBytes)
	if err != nil {
		return cli.Failed(err)
	}
	defer server.Close()
	err = clocksync.Serve(ctx, *listen, *key)
	if errors.Is(err, syscall.EADDRINUSE) { // by the helper of another run
		return cli.Unsupported(err)
	}
	if err != nil {
		return cli.Failed(err)
	}
	return cli.ExitDone
}

func collector(text []byte) (func(context.Context, string) (any, error), error) {
	list, err := watch.Parse(text)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, directory string) (any, error) {
		return collect.Run(ctx, list, directory, os.Stderr)
	}, nil
}

// runMeasure prints a line for each packet.
func runMeasure(ctx context.Context, arguments []string) int {
	flags := cli.NewFlags(usage)
	to := flags.String("to", "", "")
	o := clocksync.Options{}
	flags.Uint64Var(&o.Key, "key", 0, "")
	flags.IntVar(&o.Packets, "packets", 0, "")
	flags.DurationVar(&o.Interval, "interval", 100*time.Millisecond, "")
	flags.DurationVar(&o.Timeout, "timeout", time.Second, "")
	flags.IntVar(&o.MTU, "mtu", 0, "")
	if code, ok := flags.Parse(arguments, "to"); !ok {
		return code
	}
	if o.Interval <= 0 || o.Timeout <= 0 {
		return cli.BadInput(fmt.Sprintf("--interval %v, --timeout %v: want more than 0", o.Interval, o.Timeout))
	}
	address, err := netip.ParseAddrPort(*to)
	if err != nil {
		return cli.BadInput(fmt.Errorf("--to: %w", err))
	}
	o.To = address
	out := json.NewEncoder(os.Stdout)
	err = clocksync.Measure(ctx, o, func(s clocksync.Sample) { _ = out.Encode(s) })
	if errors.Is(err, clocksync.ErrTooLarge) {
		return cli.Unsupported(err)
	}
	if err != nil {
		return cli.Failed(err)
	}
	return cli.ExitDone
}

// runRuns prints each run that has a folder, and the machine that leads it.
func runRuns(arguments []string) int {
	if len(arguments) > 0 {
		return cli.BadInput(usage)
	}
	found, err := os.ReadDir(folder)
	if err != nil && !os.IsNotExist(err) {
		return cli.Failed(err)
	}
	for _, run := range found {
		lead, _ := os.ReadFile(filepath.Join(folder, run.Name(), "lead")) // of a run that had not got so far there is none
		fmt.Println(run.Name(), strings.TrimSpace(string(lead)))
	}
	return cli.ExitDone
}

// runForget removes the folder of a run, and that of all runs if it is the last.
func runForget(arguments []string) int {
	if len(arguments) != 1 || filepath.Base(arguments[0]) != arguments[0] || arguments[0] == ".." {
		return cli.BadInput(usage)
	}
	if err := os.RemoveAll(filepath.Join(folder, arguments[0])); err != nil {
		return cli.Failed(err)
	}
	_ = os.Remove(folder) // stays where there are others
	return cli.ExitDone
}
