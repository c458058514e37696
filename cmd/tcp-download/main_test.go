package main

import (
	"testing"

	"ncp-testbed/internal/cli"
)

func TestBadInputEndsWithTwo(t *testing.T) {
	for _, args := range [][]string{
		{}, {"fetch"}, {"serve"}, {"serve", "--listen", "127.0.0.1:0"}, {"serve", "--listen", "127.0.0.1:0", "--bytes", "0"},
		{"get", "--server", "127.0.0.1:1", "--bytes", "1", "--from", "here"},
		{"get", "--server", "127.0.0.1:1", "--bytes", "1", "--receive-buffer", "-1"},
		{"get", "--server", "127.0.0.1:1", "--bytes", "1", "rest"}, {"window", "--receive-buffer", "1000"},
	} {
		if code := run(args); code != cli.ExitBadInput {
			t.Errorf("%q ends with %d, not %d", args, code, cli.ExitBadInput)
		}
	}
}

func TestFailuresAreToldApart(t *testing.T) {
	serve := []string{"serve", "--listen", "127.0.0.1:0", "--bytes", "1", "--timeout", "10ms"}
	if code := run(serve); code != cli.ExitFailed {
		t.Errorf("without a client: %d, not %d", code, cli.ExitFailed)
	}
	if code := run(append(serve, "--congestion", "no-such-one")); code != cli.ExitUnsupported {
		t.Errorf("without the congestion control: %d, not %d", code, cli.ExitUnsupported)
	}
}
