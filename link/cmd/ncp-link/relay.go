package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"ncp-testbed/link/plan"
	"ncp-testbed/link/relay"
)

func runRelay(arguments []string) error {
	flags := flag.NewFlagSet("relay", flag.ContinueOnError)
	planPath := flags.String("plan", "", "")
	directory := flags.String("dir", "", "")
	control := flags.String("control", "", "")
	credentials := flags.String("credentials", "", "")
	if err := parse(flags, arguments, "plan", "dir"); err != nil {
		return err
	}
	p, err := readPlan(*planPath)
	if err != nil {
		return err
	}
	return forward(p, *directory, *control, *credentials)
}

// forward relays frames until SIGTERM or SIGINT.
func forward(p *plan.Plan, directory, control, credentials string) error {
	ended, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()

	spool, err := os.OpenFile(filepath.Join(directory, "telemetry.lp"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return badInput{fmt.Errorf("--dir: %w", err)}
	}
	defer spool.Close()
	r, err := relay.Open(p.Links, warn)
	if err != nil {
		return err
	}
	meter := relay.NewMeter(r, p.Run, p.Scenario, spool)
	metered := make(chan error, 1)
	if control != "" {
		server, err := serve(control, relay.Control(r, meter, filepath.Dir(p.Path)))
		if err != nil {
			return badInput{fmt.Errorf("--control: %w", err)}
		}
		defer server.Close()
	}
	forwarded := make(chan error, 1)
	begun := time.Now()
	var granted relay.Granted
	go func() {
		forwarded <- r.Run(func(g relay.Granted) {
			granted = g
			fmt.Println("ready")
		})
	}()
	go func() { metered <- meter.Run(time.Duration(p.Telemetry.IntervalMS) * time.Millisecond) }()
	select {
	case <-ended.Done():
		r.Stop()
		err = <-forwarded
	case err = <-forwarded:
	}
	err = errors.Join(err, <-metered)
	result := relay.Result{
		Schema: 1, Run: p.Run, Seconds: time.Since(begun).Seconds(), Granted: granted,
		Links: meter.Results(), Changes: r.Changes(),
	}
	return errors.Join(err, result.Write(directory))
}

func warn(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, "ncp-link: "+format+"\n", arguments...)
}

// serve answers HTTP on a Unix socket that the directory's owner alone can reach.
func serve(path string, handler http.Handler) (*http.Server, error) {
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		listener.Close()
		return nil, err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = server.Serve(listener) }() // ends with Close
	return server, nil
}
