// Command tcp-download is a server that sends one object over kernel TCP and reports when it was acknowledged, and its
// client. See docs/contracts.md.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"time"

	"ncp-testbed/internal/cli"
	"ncp-testbed/internal/tcp/download"
)

const usage = `usage: tcp-download serve --listen ADDRESS:PORT --bytes N [--seed N] [--congestion NAME] [--timeout T]
       tcp-download get --server ADDRESS:PORT --bytes N [--from ADDRESS] [--receive-buffer BYTES] [--congestion NAME]
                        [--timeout T]
       tcp-download window [--receive-buffer BYTES]    what window this kernel offers in a new connection
Each prints its result as JSON, of a failed transfer with its error.`

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	if len(args) == 0 {
		return cli.BadInput(usage)
	}
	ctx, stop := cli.UntilSignal()
	defer stop()
	switch verb := args[0]; verb {
	case "serve":
		return serve(ctx, args[1:])
	case "get":
		return get(ctx, args[1:])
	case "window":
		return window(ctx, args[1:])
	case "help", "-h", "--help":
		fmt.Println(usage)
		return cli.ExitDone
	default:
		return cli.BadInput(fmt.Sprintf("unknown verb %q\n%s", verb, usage))
	}
}

func serve(ctx context.Context, args []string) int {
	var s download.Server
	flags := cli.NewFlags(usage)
	flags.StringVar(&s.Listen, "listen", "", "")
	flags.Uint64Var(&s.Seed, "seed", 1, "")
	common(flags, &s.Bytes, &s.CongestionControl, &s.Timeout)
	if code, ok := flags.Parse(args, "listen"); !ok {
		return code
	}
	if err := inRange(s.Bytes); err != nil {
		return cli.BadInput(err)
	}
	served, err := s.Run(ctx, func(net.Addr) {})
	if err != nil {
		served.Error = err.Error()
	}
	return end(served, err)
}

func get(ctx context.Context, args []string) int {
	var g download.Client
	flags := cli.NewFlags(usage)
	flags.StringVar(&g.Server, "server", "", "")
	flags.StringVar(&g.From, "from", "", "")
	flags.IntVar(&g.ReceiveBufferBytes, "receive-buffer", 0, "")
	common(flags, &g.Bytes, &g.CongestionControl, &g.Timeout)
	if code, ok := flags.Parse(args, "server"); !ok {
		return code
	}
	if err := inRange(g.Bytes); err != nil {
		return cli.BadInput(err)
	}
	if g.From != "" && net.ParseIP(g.From) == nil {
		return cli.BadInput(fmt.Sprintf("--from: %q is no address", g.From))
	}
	if g.ReceiveBufferBytes < 0 {
		return cli.BadInput(fmt.Sprintf("--receive-buffer: %d is negative; 0 leaves it to the kernel", g.ReceiveBufferBytes))
	}
	got, err := g.Run(ctx)
	if err != nil {
		got.Error = err.Error()
	}
	return end(got, err)
}

func window(ctx context.Context, args []string) int {
	flags := cli.NewFlags(usage)
	buffer := flags.Int("receive-buffer", download.ProbeBufferBytes, "")
	if code, ok := flags.Parse(args); !ok {
		return code
	}
	if *buffer < download.ProbeBufferBytes {
		return cli.BadInput(fmt.Sprintf("--receive-buffer: %d is too little to tell; %d or more", *buffer, download.ProbeBufferBytes))
	}
	found, err := download.ProbeInitialWindow(ctx, *buffer)
	if err != nil {
		return failed(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(found); err != nil {
		return failed(err)
	}
	return cli.ExitDone
}

// common defines the options of both ends.
func common(flags *cli.Flags, bytes *int, congestionControl *string, timeout *time.Duration) {
	flags.IntVar(bytes, "bytes", 0, "")
	flags.StringVar(congestionControl, "congestion", "", "")
	flags.DurationVar(timeout, "timeout", time.Minute, "")
}

func inRange(bytes int) error {
	if bytes < 1 || bytes > download.MostBytes {
		return fmt.Errorf("--bytes: %d is outside 1 to %d", bytes, download.MostBytes)
	}
	return nil
}

// end prints the result, also a broken one, and returns the exit code.
func end(result any, err error) int {
	document, _ := json.MarshalIndent(result, "", " ")
	fmt.Println(string(document))
	if err != nil {
		return failed(err)
	}
	return cli.ExitDone
}

func failed(err error) int {
	if _, ok := download.IsUnsupported(err); ok {
		return cli.Unsupported(err)
	}
	return cli.Failed(err)
}
