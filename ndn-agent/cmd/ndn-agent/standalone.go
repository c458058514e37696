package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"ncp-testbed/internal/cli"
	"ncp-testbed/internal/payload"
	"ncp-testbed/ndn-agent/agent"
	"ncp-testbed/ndn-agent/config"
	"ncp-testbed/ndn-agent/faces"
	"ncp-testbed/ndn-agent/fetch"
	"ncp-testbed/ndn-agent/forwarder"
	"ncp-testbed/ndn-agent/lp"
	"ncp-testbed/ndn-agent/marking"
	"ncp-testbed/ndn-agent/packet"
	"ncp-testbed/ndn-agent/produce"
)

// verbs run a node without a plan.
var verbs = map[string]func(args []string) int{"forward": forward, "get": get, "put": put}

// flagSet is the flags of a verb that runs a node on its own.
type flagSet struct {
	*cli.Flags
	standalone agent.Standalone
}

func newFlags(verb, argument string) *flagSet {
	f := &flagSet{Flags: cli.NewFlags(fmt.Sprintf("usage: ndn-agent %s [flags] %s", verb, argument))}
	if argument != "" {
		f.Operands = 1
	}
	f.standalone.Out = os.Stdout
	f.IntVar(&f.standalone.MTU, "mtu", faces.DefaultMTU, "largest link packet over UDP, in `bytes`; larger ones are fragmented")
	f.StringVar(&f.standalone.Report, "report", "", "`file` for the result, as JSON")
	return f
}

// listen adds --listen.
func (f *flagSet) listen() {
	f.Func("listen", "`udp://HOST:PORT` or tcp://HOST:PORT to take peers at; may be given again", func(uri string) error {
		transport, address, err := agent.ParseURI(uri)
		f.standalone.Listen = append(f.standalone.Listen, faces.FaceConfig{Transport: transport, Local: address})
		return err
	})
}

// face adds --face, with a name before it where a verb has several.
func (f *flagSet) face(named bool) {
	form := "`udp://HOST:PORT` or tcp://HOST:PORT of a peer"
	if named {
		form = "`NAME=udp://HOST:PORT` or NAME=tcp://HOST:PORT of a peer; may be given again"
	}
	f.Func("face", form, func(text string) error {
		name, uri := "peer", text
		if named {
			var ok bool
			if name, uri, ok = strings.Cut(text, "="); !ok || name == "" {
				return errors.New("want NAME=udp://HOST:PORT")
			}
		}
		for _, other := range f.standalone.Faces {
			if other.Name == name {
				return fmt.Errorf("there is a face %s already", name)
			}
		}
		transport, address, err := agent.ParseURI(uri)
		f.standalone.Faces = append(f.standalone.Faces, faces.FaceConfig{Name: name, Transport: transport, Remote: address})
		return err
	})
}

// parse reads the arguments, as [cli.Flags.Parse] does.
func (f *flagSet) parse(args []string) (code int, ok bool) {
	if code, ok := f.Parse(args); !ok {
		return code, false
	}
	switch {
	case len(f.standalone.Listen)+len(f.standalone.Faces) == 0:
		return cli.BadInput("no face: nobody can be reached"), false
	case f.standalone.MTU < lp.MinMTU || f.standalone.MTU > faces.MaxMTU:
		return cli.BadInput(fmt.Sprintf("--mtu %d, want %d to %d", f.standalone.MTU, lp.MinMTU, faces.MaxMTU)), false
	}
	return cli.ExitDone, true
}

func forward(args []string) int {
	f := newFlags("forward", "")
	f.listen()
	f.face(true)
	routes := map[packet.Name]string{}
	f.Func("route", "`/PREFIX=NAME` of the face that Interests under it go to; may be given again", func(text string) error {
		at := strings.LastIndex(text, "=")
		if at < 0 {
			return errors.New("want /PREFIX=NAME")
		}
		name, err := packet.ParseName(text[:at])
		routes[name] = text[at+1:]
		return err
	})
	var c forwarder.Config
	f.IntVar(&c.ContentStorePackets, "content-store", 0, "Data `packets` to keep; 0: none")
	f.BoolVar(&c.AcceptRegistrations, "accept-registrations", false, "route to a peer what it registers; signatures are not checked")
	mode := f.String("marking", marking.Off, "`mode` of congestion marks: off, hackathon or nfd")
	threshold := f.Int("threshold-bytes", 0, "backlog from which on packets are marked; 0: the mode's")
	interval := f.Float64("interval-ms", 0, "of the mode nfd; 0: the mode's")
	if code, ok := f.parse(args); !ok {
		return code
	}
	m, err := marking.Default(*mode)
	if err != nil {
		return cli.BadInput(fmt.Errorf("--marking %w", err))
	}
	if *threshold > 0 {
		m.ThresholdBytes = *threshold
	}
	if *interval > 0 {
		m.Interval = time.Duration(*interval * float64(time.Millisecond))
	}
	f.standalone.Marking = m
	for prefix, name := range routes {
		if !hasFace(f.standalone.Faces, name) {
			return cli.BadInput(fmt.Errorf("--route %s=%s: want the name of a --face", prefix, name))
		}
	}
	return until(func(ctx context.Context) error { return agent.Forward(ctx, f.standalone, c, routes) })
}

func hasFace(configured []faces.FaceConfig, name string) bool {
	for _, f := range configured {
		if f.Name == name {
			return true
		}
	}
	return false
}

func put(args []string) int {
	f := newFlags("put", "NAME")
	f.listen()
	f.face(false)
	file := f.String("file", "", "`file` to offer")
	bytes := f.Int64("bytes", 0, "offer so many pseudo-random `bytes` instead")
	seed := f.Uint64("seed", 1, "of these")
	segment := f.Int("segment-bytes", produce.DefaultSegmentBytes, "of content in a segment")
	freshness := f.Float64("freshness-ms", float64(config.DefaultFreshness/time.Millisecond), "for how long caches may answer")
	if code, ok := f.parse(args); !ok {
		return code
	}
	name, err := packet.ParseName(f.Arg(0))
	if err != nil {
		return cli.BadInput(err)
	}
	if (*file == "") == (*bytes == 0) {
		return cli.BadInput("want either --file or --bytes")
	}
	content, size, err := source(*file, *bytes, *seed, f.Arg(0))
	if err != nil {
		return cli.BadInput(err)
	}
	return until(func(ctx context.Context) error {
		return agent.Put(ctx, f.standalone, name, content, size, *segment, time.Duration(*freshness*float64(time.Millisecond)))
	})
}

// source is what to offer, and its size.
func source(file string, bytes int64, seed uint64, name string) (io.Reader, int64, error) {
	if file == "" {
		return payload.New(seed, name, bytes).Reader(), bytes, nil
	}
	in, err := os.Open(file)
	if err != nil {
		return nil, 0, err
	}
	info, err := in.Stat()
	if err != nil {
		return nil, 0, err
	}
	if info.Size() == 0 {
		return nil, 0, fmt.Errorf("%s is empty, want something to offer", file)
	}
	return in, info.Size(), nil
}

func get(args []string) int {
	f := newFlags("get", "NAME")
	f.face(false)
	c := fetch.Default("")
	f.StringVar(&c.Algorithm, "algorithm", c.Algorithm, "aimd or cubic")
	f.BoolVar(&c.IgnoreMarks, "ignore-marks", false, "congestion marks are counted, the window does not react to them")
	f.Float64Var(&c.InitialCwnd, "initial-cwnd", c.InitialCwnd, "window at the start, in segments")
	f.Float64Var(&c.AIMDStep, "aimd-step", c.AIMDStep, "segments that aimd adds per round trip")
	f.Float64Var(&c.AIMDBeta, "aimd-beta", c.AIMDBeta, "what aimd multiplies its window by at a mark or a loss")
	f.IntVar(&c.MaxRetries, "max-retries", c.MaxRetries, "of one segment")
	f.DurationVar(&c.Lifetime, "lifetime", c.Lifetime, "of an Interest")
	rto := f.Float64("rto-min-ms", float64(c.RTOMin/time.Millisecond), "least time until a segment is taken as lost")
	as := f.Bool("no-discovery", false, "segments are NAME/seg=0 and so on; do not ask for a version first")
	into := f.String("out", "", "`file` for the object")
	if code, ok := f.parse(args); !ok {
		return code
	}
	var err error
	if c.Name, err = packet.ParseName(f.Arg(0)); err != nil {
		return cli.BadInput(err)
	}
	c.Discover, c.Seed = !*as, uint64(time.Now().UnixNano())
	c.RTOMin = time.Duration(*rto * float64(time.Millisecond))
	if err := config.CheckFetch(c); err != nil {
		return cli.BadInput(err)
	}
	return until(func(ctx context.Context) error {
		if *into == "" {
			return agent.Get(ctx, f.standalone, c, io.Discard)
		}
		file, err := os.Create(*into)
		if err != nil {
			return err
		}
		out := bufio.NewWriterSize(file, 1<<20)
		return errors.Join(agent.Get(ctx, f.standalone, c, out), out.Flush(), file.Close())
	})
}
