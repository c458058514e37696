package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"ncp-testbed/internal/atomicfile"
	"ncp-testbed/internal/controlsocket"
	"ncp-testbed/internal/payload"
	"ncp-testbed/internal/telemetry"
	"ncp-testbed/internal/telemetry/push"
	"ncp-testbed/internal/timing"
	"ncp-testbed/ndn-agent/config"
	"ncp-testbed/ndn-agent/faces"
	"ncp-testbed/ndn-agent/forwarder"
	"ncp-testbed/ndn-agent/lp"
	"ncp-testbed/ndn-agent/produce"
)

// Options are the command line of a node of a plan.
type Options struct {
	Plan        *config.Plan
	Dir         string
	Control     string
	Credentials *telemetry.Credentials // nil: no push
	Log         io.Writer
}

// Run is a node's life. Cancelling ctx ends it; what it knows until then is
// kept. It returns why the node failed: a consumer also when it was cancelled.
func Run(ctx context.Context, o Options) error {
	result := &Result{Node: o.Plan.Node.Host, Role: o.Plan.Node.Role, Session: o.Plan.Session, Faces: []FaceResult{}, Warnings: []string{}}
	control, err := serveControl(o.Control, o.Plan)
	if err != nil {
		return err
	}
	defer control.close()
	output, err := push.OpenOutput(filepath.Join(o.Dir, "telemetry.lp"), o.Plan.Telemetry, o.Credentials, o.Log)
	if err != nil {
		return err
	}
	failed := work(ctx, o, control, output, result)
	var warnings []string
	result.Telemetry, warnings, err = output.Close(ctx)
	result.Warnings = append(result.Warnings, warnings...)
	failed = errors.Join(failed, err)
	if failed != nil {
		result.Error = failed.Error()
		control.set(controlsocket.Failed, result.Error)
	} else {
		control.set(controlsocket.Done, "")
	}
	return errors.Join(failed, atomicfile.Write(filepath.Join(o.Dir, "result.json"), result))
}

// work makes the node and lets it work.
func work(ctx context.Context, o Options, control *control, output *push.Output, result *Result) (failed error) {
	engine := faces.New(ctx, func(reason error) { control.set(controlsocket.Waiting, reason.Error()) })
	n, log, err := makeNode(engine, o)
	if err != nil {
		return err
	}
	defer func() { failed = errors.Join(failed, log.close()) }()
	engine.Start(n)
	defer engine.Close()
	if err := engine.Open(o.Plan.Faces)(); err != nil {
		return err
	}
	sampler := newSampler(o.Plan, engine, n, output)
	go sampler.run()
	begun := time.Now()
	if c, ok := n.(*consumer); ok {
		failed = consume(ctx, engine, c, control, sampler)
	} else {
		control.set(controlsocket.Running, "")
		select {
		case <-ctx.Done():
		case failed = <-engine.Failure():
		}
		result.finish(begun, time.Now())
	}
	sampler.close()
	engine.Do(func(time.Duration) { n.report(engine, result) })
	result.Faces, result.GoneFaces = faceResults(engine.States()), faceResult("", "", engine.Gone())
	return failed
}

// makeNode makes the plan's node on an engine.
func makeNode(e *faces.Engine, o Options) (node, *segmentLog, error) {
	p := o.Plan
	switch p.Node.Role {
	case config.Consumer:
		log, err := openSegmentLog(filepath.Join(o.Dir, "segments.csv"))
		if err != nil {
			return nil, nil, err
		}
		return newConsumer(e, p.Fetch, io.Discard, log), log, nil
	case config.Producer:
		n := &server{}
		content := payload.New(p.Seed, p.NDN.Prefix, p.ObjectBytes).Reader()
		var err error
		n.producer, err = produce.New(p.Prefix, content, p.ObjectBytes, p.SegmentBytes, p.Freshness, func(out lp.Packet) { e.Send(n.face, out) })
		return n, nil, err
	default:
		n := newRouter(e, forwarder.Config{ContentStorePackets: p.Node.ContentStorePackets, Seed: p.Seed}, p.Marking)
		for _, r := range p.Routes {
			n.AddRoute(r.Prefix, r.Face)
		}
		return n, nil, nil
	}
}

// consume waits for the start and fetches.
func consume(ctx context.Context, e *faces.Engine, c *consumer, control *control, sampler *sampler) error {
	control.observe(func() (bytes, segments uint64) {
		e.Do(func(time.Duration) {
			s := c.fetcher.Stats()
			bytes, segments = s.Bytes, s.Segments
		})
		return bytes, segments
	})
	control.set(controlsocket.Ready, "")
	select {
	case <-control.start:
	case err := <-e.Failure():
		return err
	case <-ctx.Done():
		return fmt.Errorf("%w, before the start", context.Cause(ctx))
	}
	e.Do(c.start)
	started := e.Time(c.started)
	control.started(timing.Of(started))
	sampler.event("transfer_start", started, 0, fmt.Sprintf("%s, %s, marks ignored: %t", c.config.Name, c.config.Algorithm, c.config.IgnoreMarks))
	err := await(ctx, e, c)
	if err != nil {
		return err
	}
	finished := e.Time(c.finished)
	sampler.event("transfer_end", finished, finished.Sub(started), "all segments are there")
	return nil
}

// await waits for the fetch's end.
func await(ctx context.Context, e *faces.Engine, c *consumer) error {
	var err error
	select {
	case <-c.done:
		_, err = c.fetcher.Done()
	case err = <-e.Failure():
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		var segments uint64
		e.Do(func(time.Duration) { segments = c.fetcher.Stats().Segments })
		return fmt.Errorf("%w, after %d segments", err, segments)
	}
	return nil
}
