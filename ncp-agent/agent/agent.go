// Package agent is one end of one session of a plan: it opens the session's
// sockets, sends or receives the payload, writes telemetry and the result.
package agent

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"ncp-testbed/internal/controlsocket"
	"ncp-testbed/internal/payload"
	"ncp-testbed/internal/telemetry"
	"ncp-testbed/internal/telemetry/push"
	"ncp-testbed/ncp-agent/config"
	"ncp-testbed/ncp-agent/endpoint"
	"ncp-testbed/ncp-agent/metrics"
	"ncp-testbed/ncp-agent/qlog"
	"ncp-testbed/ncp-agent/session"
)

// The roles of an agent.
const (
	Sender   = metrics.Sender
	Receiver = metrics.Receiver
)

// awaitClose is how long a receiver that has all waits, beyond the linger, for
// the sender's close.
const awaitClose = 5 * time.Second

// Options are an agent's command line.
type Options struct {
	Role        string
	Plan        *config.Plan
	Dir         string
	Control     string
	Credentials *telemetry.Credentials // nil: no push
	Log         io.Writer
}

// Run is an agent's life. Cancelling ctx ends it early; what it knows until
// then is kept all the same. It returns why the transfer failed.
func Run(ctx context.Context, o Options) error {
	s := &o.Plan.Session
	links := make([]string, len(s.Connections))
	for i, c := range s.Connections {
		links[i] = c.Link
	}
	result := &metrics.Result{Role: o.Role, Session: s.Name, Policy: s.Policy, Connections: []metrics.ConnectionResult{}, Warnings: []string{}}
	control, err := serveControl(o.Control, o.Role, s.Name, links)
	if err != nil {
		return err
	}
	defer control.close()
	output, err := push.OpenOutput(filepath.Join(o.Dir, "telemetry.lp"), o.Plan.Telemetry, o.Credentials, o.Log)
	if err != nil {
		return err
	}

	failed := transfer(ctx, o, links, control, output, result)

	var warnings []string
	result.Telemetry, warnings, err = output.Close(ctx)
	result.Warnings = append(result.Warnings, warnings...)
	if failed == nil {
		failed = err
	}
	if failed != nil {
		result.Error = failed.Error()
		control.set(controlsocket.Failed, result.Error, nil)
	} else {
		control.set(controlsocket.Done, "", nil)
	}
	return errors.Join(failed, result.Write(filepath.Join(o.Dir, "result.json")))
}

// transfer opens the session and carries the payload across.
func transfer(ctx context.Context, o Options, links []string, control *control, output *push.Output, result *metrics.Result) (failed error) {
	var endpoints []endpoint.Endpoint
	for _, c := range o.Plan.Session.Connections {
		e := endpoint.Endpoint{Local: c.Sender, Remote: c.Receiver, SendBufferPackets: c.SendBufferPackets, ReceiveBufferBytes: config.ReceiveBufferBytes}
		if o.Role == Receiver {
			e.Local, e.Remote = e.Remote, e.Local
		}
		switch tcp := o.Plan.Session.Transport == config.TCP; {
		case tcp && o.Role == Receiver:
			e.Transport = endpoint.TCPListen
		case tcp:
			e.Transport = endpoint.TCPDial
		}
		endpoints = append(endpoints, e)
	}
	cfg := o.Plan.Session.Config(o.Role)
	if o.Plan.Traces.QLog {
		names := qlog.Names{Scenario: o.Plan.Scenario, Session: o.Plan.Session.Name, Role: o.Role, Dials: o.Role == Sender}
		trace, err := qlog.Create(filepath.Join(o.Dir, "trace.sqlog"), names)
		if err != nil {
			return err
		}
		defer func() { failed = errors.Join(failed, trace.Close()) }()
		cfg.Tracer = trace
	}
	d, err := endpoint.Open(ctx, cfg, endpoints, func(reason error) {
		control.set(controlsocket.Waiting, reason.Error(), nil)
	})
	if err != nil {
		return err
	}
	result.Warnings = append(result.Warnings, d.Warnings()...)
	for _, w := range result.Warnings {
		fmt.Fprintln(o.Log, "ncp-agent:", w)
	}
	sampler := newSampler(o.Plan, o.Role, d, output)
	go sampler.run()
	control.set(controlsocket.Ready, "", d)

	if o.Role == Sender {
		err = send(ctx, o.Plan, d, control, sampler, result)
	} else {
		err = receive(ctx, o.Plan, d, control, sampler, result)
	}
	sampler.close()
	var stats session.Stats
	d.Stats(&stats)
	result.Connections = metrics.ConnectionResults(&stats, links)
	result.MaxReorderBytes = sampler.maxReorderBytes()
	result.Warnings = append(result.Warnings, d.Broken()...)
	d.Close(ctx)
	return err
}

// established waits for the handshake and returns its time by the wall clock.
func established(ctx context.Context, d *endpoint.Driver) (time.Time, error) {
	select {
	case <-d.Established():
	case <-d.Working().Done():
		return time.Time{}, context.Cause(d.Working())
	case <-ctx.Done():
		return time.Time{}, fmt.Errorf("%w, before the session was established", context.Cause(ctx))
	}
	var stats session.Stats
	d.Stats(&stats)
	return d.Start().Add(stats.EstablishedAt), nil
}

func send(ctx context.Context, p *config.Plan, d *endpoint.Driver, control *control, sampler *sampler, result *metrics.Result) error {
	select {
	case <-control.start:
	case <-d.Working().Done():
		return context.Cause(d.Working())
	case <-ctx.Done():
		return fmt.Errorf("%w, before the start", context.Cause(ctx))
	}
	d.Dial()
	started, err := established(ctx, d)
	if err != nil {
		return err
	}
	control.started(started)
	sampler.event("transfer_start", started, 0, fmt.Sprintf("%d bytes, policy %s", p.Session.TransferBytes, p.Session.Policy))
	stream := payload.New(p.Seed, p.Session.Name, p.Session.TransferBytes)
	for part := stream.Next(); len(part) > 0 && err == nil; part = stream.Next() {
		_, err = d.Write(ctx, part)
	}
	if err == nil {
		err = d.Drain(ctx)
	}
	finished := time.Now()
	var stats session.Stats
	d.Stats(&stats)
	result.Finish(started, finished, int64(stats.AckedBytes), stream.SHA256())
	if err != nil {
		return fmt.Errorf("%w, after %d of %d bytes", err, stats.AckedBytes, p.Session.TransferBytes)
	}
	sampler.event("transfer_end", finished, finished.Sub(started), "all data is acknowledged")
	return nil
}

func receive(ctx context.Context, p *config.Plan, d *endpoint.Driver, control *control, sampler *sampler, result *metrics.Result) error {
	started, err := established(ctx, d)
	if err != nil {
		return err
	}
	control.set(controlsocket.Running, "", nil)
	sum := payload.NewReceived()
	result.CRC32 = sum.CRC32()
	received := int64(0)
	buf := make([]byte, 256<<10)
	for received < p.Session.TransferBytes && err == nil {
		var n int
		n, err = d.Read(ctx, buf)
		sum.Write(buf[:n])
		received += int64(n)
	}
	finished := time.Now()
	result.Finish(started, finished, received, hex.EncodeToString(sum.Sum(nil)))
	if err != nil {
		return fmt.Errorf("%w, after %d of %d bytes", err, received, p.Session.TransferBytes)
	}
	sampler.event("receive_end", finished, finished.Sub(started), "all data is received")
	select {
	case <-d.Closed():
	case <-time.After(p.Session.Linger() + awaitClose):
		result.Warnings = append(result.Warnings, "the sender did not close the session")
	case <-ctx.Done():
	}
	return nil
}
