// Command ncp-agent is one end of an NCP session of a plan. See
// docs/contracts.md for its arguments and files.
package main

import (
	"os"

	"ncp-testbed/ncp-agent/agent"
)

func main() { os.Exit(agent.Main(os.Args[1:])) }
