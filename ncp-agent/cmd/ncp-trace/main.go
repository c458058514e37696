// Command ncp-trace reports what the packets of an NCP session over TCP show, as
// they were captured at its two ends. See docs/contracts.md for its arguments
// and its answer.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"ncp-testbed/internal/cli"
	"ncp-testbed/ncp-agent/config"
	"ncp-testbed/ncp-agent/metrics"
	"ncp-testbed/ncp-agent/trace"
	"ncp-testbed/ncp-agent/wire"
)

const usage = `usage: ncp-trace --session NAME --plan FILE --sender-capture FILE --receiver-capture FILE`

// answer is what is printed: the session as it looks at each end.
type answer struct {
	SenderEnd   trace.Facts `json:"sender_end"`
	ReceiverEnd trace.Facts `json:"receiver_end"`
}

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	flags := cli.NewFlags(usage)
	name := flags.String("session", "", "name of the session in the plans")
	plan := flags.String("plan", "", "plan of the run")
	captures := [2]string{}
	for i, end := range []string{metrics.Sender, metrics.Receiver} {
		flags.StringVar(&captures[i], end+"-capture", "", "capture (pcap) in the namespace of the "+end)
	}
	if code, ok := flags.Parse(args, "session", "plan", "sender-capture", "receiver-capture"); !ok {
		return code
	}
	read, err := config.Read(*plan, *name)
	if err != nil {
		return cli.BadInput(err)
	}
	if read.Session.Transport != config.TCP {
		return cli.BadInput(fmt.Errorf("%s: transport: %q, want %q", *plan, read.Session.Transport, config.TCP))
	}
	var views [2]trace.Facts
	for i, file := range captures {
		if views[i], err = view(file, &read.Session); err != nil {
			return cli.Failed(fmt.Errorf("%s: %w", file, err))
		}
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(answer{views[0], views[1]}); err != nil {
		return cli.Failed(err)
	}
	return cli.ExitDone
}

// view reads one capture.
func view(file string, s *config.Session) (trace.Facts, error) {
	opened, err := os.Open(file)
	if err != nil {
		return trace.Facts{}, err
	}
	defer opened.Close()
	var addresses []trace.Addresses
	for _, c := range s.Connections {
		addresses = append(addresses, trace.Addresses{Sender: c.Sender, Receiver: c.Receiver})
	}
	sender, receiver := offer(s, metrics.Sender), offer(s, metrics.Receiver)
	v := trace.NewView(sender, receiver)
	largest := int(max(sender.MTUBytes, receiver.MTUBytes)) + wire.FrameSlack
	if err := trace.Read(bufio.NewReader(opened), addresses, largest, v); err != nil {
		return trace.Facts{}, err
	}
	return v.Facts(), nil
}

func offer(s *config.Session, role string) trace.Offer {
	cfg := s.Config(role)
	return trace.Offer{ClientIDs: cfg.ClientIDs, WindowBytes: cfg.WindowBytes, MTUBytes: cfg.MTUBytes}
}
