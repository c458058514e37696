package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"ncp-testbed/internal/cli"
	"ncp-testbed/internal/plan"
	"ncp-testbed/internal/probe"
)

func runProbe(arguments []string) int {
	flags := cli.NewFlags(usage)
	planPath := flags.String("plan", "", "")
	namespaces := pairs{}
	flags.Var(namespaces, "netns", "")
	far := machines{}
	flags.Var(far, "far", "")
	seconds := flags.Float64("seconds", 1, "")
	if code, ok := flags.Parse(arguments, "plan"); !ok {
		return code
	}
	if !(*seconds > 0 && *seconds <= 3600) {
		return cli.BadInput(fmt.Errorf("--seconds: %v, want more than 0", *seconds))
	}
	p, err := plan.Read(*planPath)
	if err != nil {
		return cli.BadInput(err)
	}
	for i, link := range p.Links {
		for end, host := range map[string]string{"a": link.A.Host, "b": link.B.Host} {
			if _, ok := far[host]; ok {
				continue
			}
			if _, ok := namespaces[host]; !ok {
				return cli.BadInput(fmt.Errorf("--netns: none for links[%d].%s.host %q, want %s=PATH", i, end, host, host))
			}
		}
	}
	ctx, stop := cli.UntilSignal()
	defer stop()
	found, err := probe.Run(ctx, p, probe.Options{Namespaces: namespaces, Far: far, Seconds: *seconds})
	if err != nil {
		return cli.Failed(err)
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", " ")
	return finished(out.Encode(map[string]any{"links": found}))
}

// machines is a flag that is given as HOST=SOCKET,OFFSET_NS, any number of times.
type machines map[string]probe.Machine

func (m machines) String() string { return "" }

func (m machines) Set(text string) error {
	name, value, _ := strings.Cut(text, "=")
	socket, offset, _ := strings.Cut(value, ",")
	ns, err := strconv.ParseInt(offset, 10, 64)
	if name == "" || socket == "" || err != nil {
		return fmt.Errorf("want HOST=SOCKET,OFFSET_NS")
	}
	m[name] = probe.Machine{Socket: socket, Offset: time.Duration(ns)}
	return nil
}

// pairs is a flag that is given as NAME=VALUE, any number of times.
type pairs map[string]string

func (p pairs) String() string { return "" }

func (p pairs) Set(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" || value == "" {
		return fmt.Errorf("want HOST=PATH")
	}
	p[name] = value
	return nil
}
