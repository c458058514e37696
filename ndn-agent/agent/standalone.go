package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"ncp-testbed/internal/atomicfile"
	"ncp-testbed/ndn-agent/config"
	"ncp-testbed/ndn-agent/faces"
	"ncp-testbed/ndn-agent/fetch"
	"ncp-testbed/ndn-agent/forwarder"
	"ncp-testbed/ndn-agent/lp"
	"ncp-testbed/ndn-agent/marking"
	"ncp-testbed/ndn-agent/packet"
	"ncp-testbed/ndn-agent/produce"
)

// ParseURI reads udp://HOST:PORT or tcp://HOST:PORT.
func ParseURI(uri string) (transport string, address netip.AddrPort, err error) {
	u, err := url.Parse(uri)
	if err != nil || u.Host == "" || u.Port() == "" {
		return "", netip.AddrPort{}, fmt.Errorf("%q, want udp://HOST:PORT or tcp://HOST:PORT", uri)
	}
	transport = strings.TrimRight(u.Scheme, "46")
	if transport != faces.UDP && transport != faces.TCP {
		return "", netip.AddrPort{}, fmt.Errorf("%q: transport %q, want udp or tcp", uri, u.Scheme)
	}
	resolved, err := net.ResolveUDPAddr("udp", u.Host)
	if err != nil {
		return "", netip.AddrPort{}, fmt.Errorf("%q: %w", uri, err)
	}
	address = resolved.AddrPort()
	return transport, netip.AddrPortFrom(address.Addr().Unmap(), address.Port()), nil
}

// Standalone is how a node without a plan is connected.
type Standalone struct {
	Listen  []faces.FaceConfig // Transport and Local
	Faces   []faces.FaceConfig // Name, Transport and Remote
	Marking marking.Config
	MTU     int
	Report  string    // file for the result; empty: none
	Out     io.Writer // for what it says
}

// with gives each face what all have.
func (a *Standalone) with(c faces.FaceConfig) faces.FaceConfig {
	c.Marking, c.MTU = a.Marking, a.MTU
	return c
}

// open starts a node on its faces and says so.
func (a *Standalone) open(e *faces.Engine, n node) error {
	e.Start(n)
	var dialled []faces.FaceConfig
	for _, c := range a.Faces {
		dialled = append(dialled, a.with(c))
	}
	wait := e.Open(dialled)
	for _, c := range a.Listen {
		at, err := e.Listen(a.with(c))
		if err != nil {
			return err
		}
		fmt.Fprintf(a.Out, "listening %s://%s\n", c.Transport, at)
	}
	return wait()
}

// report writes what a node did.
func (a *Standalone) report(e *faces.Engine, n node, r *Result, failed error) error {
	e.Do(func(time.Duration) { n.report(e, r) })
	r.Faces, r.GoneFaces, r.Warnings = faceResults(e.States()), faceResult("", "", e.Gone()), []string{}
	if failed != nil {
		r.Error = failed.Error()
	}
	if a.Report == "" {
		return failed
	}
	return errors.Join(failed, atomicfile.Write(a.Report, r))
}

// serve runs a node until ctx ends.
func (a *Standalone) serve(ctx context.Context, e *faces.Engine, n node, role string) error {
	defer e.Close()
	if err := a.open(e, n); err != nil {
		return err
	}
	fmt.Fprintln(a.Out, "ready")
	begun := time.Now()
	var failed error
	select {
	case <-ctx.Done():
	case failed = <-e.Failure():
	}
	r := &Result{Role: role}
	r.finish(begun, time.Now())
	return a.report(e, n, r, failed)
}

// Forward is a forwarder on its own; routes are to Faces by their names.
func Forward(ctx context.Context, a Standalone, c forwarder.Config, routes map[packet.Name]string) error {
	e := faces.New(ctx, nil)
	n := newRouter(e, c, a.Marking)
	for prefix, face := range routes {
		n.AddRoute(prefix, slices.IndexFunc(a.Faces, func(c faces.FaceConfig) bool { return c.Name == face }))
	}
	return a.serve(ctx, e, n, config.Forwarder)
}

// Put offers an object on its own.
func Put(ctx context.Context, a Standalone, name packet.Name, content io.Reader, bytes int64, segmentBytes int, freshness time.Duration) error {
	e := faces.New(ctx, nil)
	n := &server{}
	var err error
	if n.producer, err = produce.New(name, content, bytes, segmentBytes, freshness, func(out lp.Packet) { e.Send(n.face, out) }); err != nil {
		return err
	}
	return a.serve(ctx, e, n, config.Producer)
}

// Get fetches an object on its own, into out, and reports the outcome.
func Get(ctx context.Context, a Standalone, c fetch.Config, out io.Writer) error {
	e := faces.New(ctx, nil)
	n := newConsumer(e, c, out, nil)
	defer e.Close()
	if err := a.open(e, n); err != nil {
		return err
	}
	e.Do(n.start)
	failed := await(ctx, e, n)
	r := &Result{Role: config.Consumer}
	failed = a.report(e, n, r, failed)
	said := json.NewEncoder(a.Out)
	said.SetIndent("", "  ")
	return errors.Join(failed, said.Encode(r))
}
