// Command ncp-far does on a machine with hosts of a run what has to be done there (serve), and measures the network to
// such a machine (measure).
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"ncp-testbed/far/echo"
	"ncp-testbed/far/serve"
	"ncp-testbed/program"
	"ncp-testbed/program/controlsocket"
)

const usage = `usage: ncp-far serve --dir DIR --listen ADDRESS:PORT --key N
       ncp-far measure --to ADDRESS:PORT --key N [--packets N] [--interval T] [--timeout T] [--mtu BYTES]
       ncp-far runs
       ncp-far hold
       ncp-far forget RUN`

// folder is that of all runs on a machine, whose /run is at /machine/run.
const folder = "/machine/run/ncp-testbed-far"

// maxRequestBytes is room for what is asked about 255 links.
const maxRequestBytes = 4 << 20

func main() { os.Exit(run(os.Args[1:])) }

func run(arguments []string) int {
	if len(arguments) == 0 {
		return program.BadInput(usage)
	}
	ctx, stop := program.UntilSignal()
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
		return program.ExitDone
	case "forget":
		return runForget(arguments[1:])
	}
	return program.BadInput(usage)
}

// runServe answers the runner until it is told to end; its folder is empty then.
func runServe(ctx context.Context, arguments []string) int {
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	folder := flags.String("dir", "", "")
	listen := flags.String("listen", "", "")
	key := flags.Uint64("key", 0, "")
	if err := flags.Parse(arguments); err != nil || *folder == "" || *listen == "" || flags.NArg() > 0 {
		return program.BadInput(usage)
	}
	server, err := controlsocket.ServeBodies(filepath.Join(*folder, "far.sock"), serve.New(*folder).Handler(), maxRequestBytes)
	if err != nil {
		return program.Failed(err)
	}
	defer server.Close()
	err = echo.Serve(ctx, *listen, *key)
	if errors.Is(err, syscall.EADDRINUSE) { // by the helper of another run
		return program.Unsupported(err)
	}
	if err != nil {
		return program.Failed(err)
	}
	return program.ExitDone
}

// runMeasure prints a line for each packet.
func runMeasure(ctx context.Context, arguments []string) int {
	flags := flag.NewFlagSet("measure", flag.ContinueOnError)
	to := flags.String("to", "", "")
	o := echo.Options{}
	flags.Uint64Var(&o.Key, "key", 0, "")
	flags.IntVar(&o.Packets, "packets", 0, "")
	flags.DurationVar(&o.Interval, "interval", 100*time.Millisecond, "")
	flags.DurationVar(&o.Timeout, "timeout", time.Second, "")
	flags.IntVar(&o.MTU, "mtu", 0, "")
	if err := flags.Parse(arguments); err != nil || flags.NArg() > 0 || o.Interval <= 0 || o.Timeout <= 0 {
		return program.BadInput(usage)
	}
	address, err := netip.ParseAddrPort(*to)
	if err != nil {
		return program.BadInput(fmt.Errorf("--to: %w", err))
	}
	o.To = address
	out := json.NewEncoder(os.Stdout)
	err = echo.Measure(ctx, o, func(s echo.Sample) { _ = out.Encode(s) })
	if errors.Is(err, echo.ErrTooLarge) {
		return program.Unsupported(err)
	}
	if err != nil {
		return program.Failed(err)
	}
	return program.ExitDone
}

// runRuns prints each run that has a folder, and the machine that leads it.
func runRuns(arguments []string) int {
	if len(arguments) > 0 {
		return program.BadInput(usage)
	}
	found, err := os.ReadDir(folder)
	if err != nil && !os.IsNotExist(err) {
		return program.Failed(err)
	}
	for _, run := range found {
		lead, _ := os.ReadFile(filepath.Join(folder, run.Name(), "lead")) // of a run that had not got so far there is none
		fmt.Println(run.Name(), strings.TrimSpace(string(lead)))
	}
	return program.ExitDone
}

// runForget removes the folder of a run, and that of all runs if it is the last.
func runForget(arguments []string) int {
	if len(arguments) != 1 || filepath.Base(arguments[0]) != arguments[0] || arguments[0] == ".." {
		return program.BadInput(usage)
	}
	if err := os.RemoveAll(filepath.Join(folder, arguments[0])); err != nil {
		return program.Failed(err)
	}
	_ = os.Remove(folder) // stays where there are others
	return program.ExitDone
}
