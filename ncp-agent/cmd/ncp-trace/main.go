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
	"ncp-testbed/ncp-agent/trace"
	"ncp-testbed/ncp-agent/wire"
)

const usage = `usage: ncp-trace --session NAME --sender-plan FILE --receiver-plan FILE
                 --sender-capture FILE --receiver-capture FILE`

// answer is what is printed: the session as it looks at each end.
type answer struct {
	SenderEnd   trace.Facts `json:"sender_end"`
	ReceiverEnd trace.Facts `json:"receiver_end"`
}

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	flags := cli.NewFlags(usage)
	name := flags.String("session", "", "name of the session in the plans")
	plans, captures := [2]string{}, [2]string{}
	for i, end := range []string{"sender", "receiver"} {
		flags.StringVar(&plans[i], end+"-plan", "", "plan of the "+end)
		flags.StringVar(&captures[i], end+"-capture", "", "capture (pcap) in the namespace of the "+end)
	}
	if code, ok := flags.Parse(args, "session", "sender-plan", "receiver-plan", "sender-capture", "receiver-capture"); !ok {
		return code
	}
	var sessions [2]config.Session
	for i, file := range plans {
		read, err := config.Read(file, *name)
		if err != nil {
			return cli.BadInput(err)
		}
		if sessions[i] = read.Session; sessions[i].Transport != config.TCP {
			return cli.BadInput(fmt.Errorf("%s: transport: %q, want %q", file, sessions[i].Transport, config.TCP))
		}
	}
	var views [2]trace.Facts
	for i, file := range captures {
		var err error
		if views[i], err = view(file, &sessions[0], &sessions[1]); err != nil {
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
func view(file string, sender, receiver *config.Session) (trace.Facts, error) {
	opened, err := os.Open(file)
	if err != nil {
		return trace.Facts{}, err
	}
	defer opened.Close()
	var addresses []trace.Addresses
	for _, c := range sender.Connections {
		addresses = append(addresses, trace.Addresses{Sender: c.Sender, Receiver: c.Receiver})
	}
	v := trace.NewView(offer(sender), offer(receiver))
	largest := int(max(sender.MTUBytes, receiver.MTUBytes)) + wire.FrameSlack
	if err := trace.Read(bufio.NewReader(opened), addresses, largest, v); err != nil {
		return trace.Facts{}, err
	}
	return v.Facts(), nil
}

func offer(s *config.Session) trace.Offer {
	cfg := s.Config()
	return trace.Offer{ClientIDs: cfg.ClientIDs, WindowBytes: cfg.WindowBytes, MTUBytes: cfg.MTUBytes}
}
