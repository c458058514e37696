package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"ncp-testbed/internal/atomicfile"
	"ncp-testbed/internal/cli"
	"ncp-testbed/internal/controlsocket"
	"ncp-testbed/internal/plan"
	"ncp-testbed/internal/relay"
	"ncp-testbed/internal/rusage"
	"ncp-testbed/internal/telemetry"
	"ncp-testbed/internal/telemetry/push"
)

func runRelay(arguments []string) int {
	flags := cli.NewFlags(usage)
	planPath := flags.String("plan", "", "")
	directory := flags.String("dir", "", "")
	control := flags.String("control", "", "")
	wait := flags.Duration("wait", 0, "")
	credentials := flags.String("credentials", "", "")
	untilTold := flags.Bool("until-told", false, "")
	if code, ok := flags.Parse(arguments, "plan", "dir"); !ok {
		return code
	}
	p, err := plan.Read(*planPath)
	if err != nil {
		return cli.BadInput(err)
	}
	login, err := p.Credentials(*credentials)
	if err != nil {
		return cli.BadInput(err)
	}
	var prepared relay.Prepared
	if *untilTold {
		// Whoever makes the links has this process start meanwhile, and closes its standard input when they are there.
		if prepared, err = relay.Prepare(); err != nil {
			return cli.Failed(err)
		}
		_, _ = io.Copy(io.Discard, os.Stdin)
	}
	return forward(p, prepared, *directory, *control, login, *wait)
}

// runBare passes frames on, as they come, until SIGTERM or SIGINT: what a benchmark holds the relay against.
func runBare(arguments []string) int {
	flags := cli.NewFlags(usage)
	planPath := flags.String("plan", "", "")
	if code, ok := flags.Parse(arguments, "plan"); !ok {
		return code
	}
	p, err := plan.Read(*planPath)
	if err != nil {
		return cli.BadInput(err)
	}
	ended, stop := cli.UntilSignal()
	defer stop()
	b, err := relay.OpenPassthrough(p.Links)
	if err != nil {
		return cli.Failed(err)
	}
	defer b.Close()
	passed := make(chan error, 1)
	go func() { passed <- b.Run(func() { fmt.Println("ready") }) }()
	select {
	case <-ended.Done():
		b.Stop()
		return finished(<-passed)
	case err = <-passed:
		return finished(err)
	}
}

// drainTime is how long InfluxDB may take for the last points when the relay has ended.
const drainTime = 5 * time.Second

// forward relays frames until SIGTERM or SIGINT, from when the interfaces are there, for which it waits.
func forward(
	p *plan.Plan, prepared relay.Prepared, directory, control string, login *telemetry.Credentials, wait time.Duration,
) int {
	ended, stop := cli.UntilSignal()
	defer stop()

	spoolPath := filepath.Join(directory, "telemetry.lp")
	spool, err := telemetry.OpenSpool(spoolPath)
	if err != nil {
		return cli.BadInput(fmt.Errorf("--dir: %w", err))
	}
	defer spool.Close() // where it fails before it forwards
	r, err := relay.Open(ended, p.Links, prepared, wait, warn)
	if err != nil {
		return cli.Failed(err)
	}
	defer r.Close()
	meter := relay.NewMeter(r, p.Run, p.Scenario, spool)
	metered := make(chan error, 1)
	if control != "" {
		server, err := controlsocket.ServeBodies(control, relay.Control(r, meter, filepath.Dir(p.Path)), relay.MaxRequestBytes)
		if err != nil {
			return cli.BadInput(fmt.Errorf("--control: %w", err))
		}
		defer server.Close()
	}
	var pusher *push.Pusher
	if login != nil {
		pusher = push.Start(p.Telemetry, *login, os.Stderr, spoolPath)
	}
	forwarded := make(chan error, 1)
	begun := time.Now()
	go func() { forwarded <- r.Run(func() { fmt.Println("ready") }) }()
	go func() { metered <- meter.Run(p.Telemetry.Interval()) }()
	select {
	case <-ended.Done():
		r.Stop()
		err = <-forwarded
	case err = <-forwarded:
	}
	err = errors.Join(err, <-metered, spool.Close())
	result := relay.Result{
		Schema: 1, Run: p.Run, Seconds: time.Since(begun).Seconds(), CPUSeconds: rusage.CPU().Seconds(), Privileges: r.Privileges(),
		RingDrops: r.RingDrops(), Links: meter.Results(), Changes: r.Changes(),
	}
	if pusher != nil {
		counts := pusher.Close(drainTime)
		result.Telemetry = &counts
	}
	return finished(errors.Join(err, atomicfile.Write(filepath.Join(directory, "result.json"), result)))
}

func warn(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, "ncp-link: "+format+"\n", arguments...)
}
