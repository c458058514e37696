package main

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"time"

	"ncp-testbed/internal/cli"
	"ncp-testbed/internal/linkbench"
	"ncp-testbed/internal/plan"
)

// end is a flag that is given as NAMESPACE=ADDRESS.
type end linkbench.End

func (e *end) String() string { return e.Namespace }

func (e *end) Set(text string) error {
	path, address, ok := strings.Cut(text, "=")
	parsed, err := netip.ParseAddr(address)
	if !ok || path == "" || err != nil || !parsed.Is4() {
		return fmt.Errorf("want PATH=IPV4")
	}
	*e = end{path, parsed}
	return nil
}

// runEcho measures round-trip times between two namespaces.
func runEcho(arguments []string) int {
	flags := cli.NewFlags(usage)
	var from end
	flags.Var(&from, "from", "")
	to := flags.String("to", "", "")
	count := flags.Int("count", 100, "")
	spacing := flags.Duration("spacing", 5*time.Millisecond, "")
	wait := flags.Duration("wait", time.Second, "")
	if code, ok := flags.Parse(arguments, "from", "to"); !ok {
		return code
	}
	address, err := netip.ParseAddr(*to)
	if err != nil || !address.Is4() {
		return cli.BadInput(fmt.Errorf("--to: %q, want an IPv4 address", *to))
	}
	if *count < 1 || *count > 1<<16 {
		return cli.BadInput(fmt.Errorf("--count: %d, want 1 to 65536", *count))
	}
	found, err := linkbench.Echo(linkbench.EchoOptions{
		From: linkbench.End(from), To: address, Count: *count, Spacing: *spacing, Wait: *wait,
	})
	return printed(found, err)
}

// runStream measures what becomes of UDP packets between two namespaces.
func runStream(arguments []string) int {
	flags := cli.NewFlags(usage)
	var from, to end
	flags.Var(&from, "from", "")
	flags.Var(&to, "to", "")
	o := linkbench.StreamOptions{}
	flags.IntVar(&o.IPBytes, "ip-bytes", 1059, "")
	flags.Float64Var(&o.PPS, "pps", 0, "")
	flags.IntVar(&o.Packets, "packets", 0, "")
	flags.DurationVar(&o.Duration, "for", time.Second, "")
	flags.DurationVar(&o.Wait, "wait", time.Second, "")
	flags.DurationVar(&o.Window, "window", time.Second, "")
	flags.IntVar(&o.SendBufferBytes, "send-buffer", 0, "")
	if code, ok := flags.Parse(arguments, "from", "to"); !ok {
		return code
	}
	if o.IPBytes < 28 || o.IPBytes > 65535 {
		return cli.BadInput(fmt.Errorf("--ip-bytes: %d, want 28 to 65535", o.IPBytes))
	}
	o.From, o.To = linkbench.End(from), linkbench.End(to)
	found, err := linkbench.Send(o)
	return printed(found, err)
}

// runLoad offers packets on all links of a plan at once.
func runLoad(arguments []string) int {
	flags := cli.NewFlags(usage)
	planPath := flags.String("plan", "", "")
	namespaces := pairs{}
	flags.Var(namespaces, "netns", "")
	o := linkbench.LoadOptions{}
	flags.Float64Var(&o.PPS, "pps", 1024, "")
	flags.DurationVar(&o.Duration, "for", 2*time.Second, "")
	if code, ok := flags.Parse(arguments, "plan"); !ok {
		return code
	}
	p, err := plan.Read(*planPath)
	if err != nil {
		return cli.BadInput(err)
	}
	o.Namespaces = namespaces
	found, err := linkbench.Load(p.Links, o)
	return printed(found, err)
}

func printed(found any, err error) int {
	if err != nil {
		return cli.Failed(err)
	}
	return finished(json.NewEncoder(os.Stdout).Encode(found))
}
