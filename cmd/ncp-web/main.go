// Command ncp-web serves web objects of exact sizes, GET /4500 with a body of 4500 bytes, and prints a line of JSON
// about each connection, and at its end one about all objects of each size. See docs/contracts.md.
package main

import (
	"context"
	"errors"
	"net/http"
	"os"
	"time"

	"ncp-testbed/internal/cli"
	"ncp-testbed/internal/tcp/objects"
)

// shutdown is how long connections may take to end once the server is to.
const shutdown = time.Second

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	flags := cli.NewFlags("usage: ncp-web --listen ADDRESS:PORT [--header-apart] [--congestion-control NAME]")
	listen := flags.String("listen", "", "address and port")
	algorithm := flags.String("congestion-control", "", "the kernel's name of it; empty for the default")
	apart := flags.Bool("header-apart", false, "send the header in a segment of its own")
	if code, ok := flags.Parse(args, "listen"); !ok {
		return code
	}
	listener, err := objects.Listen(*listen, *algorithm, *apart, os.Stdout)
	if err != nil {
		return cli.Failed(err)
	}
	ended, stop := cli.UntilSignal()
	defer stop()
	served := new(objects.Served)
	server := &http.Server{Handler: objects.Handler(*apart, served), ReadHeaderTimeout: time.Minute}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		<-ended.Done()
		// What was fetched whole is to be counted, and what is still being fetched is of no use to a run that ends.
		soon, stop := context.WithTimeout(context.Background(), shutdown)
		defer stop()
		if server.Shutdown(soon) != nil {
			_ = server.Close()
		}
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return cli.Failed(err)
	}
	<-closed
	if err := served.WriteLines(os.Stdout); err != nil {
		return cli.Failed(err)
	}
	return cli.ExitDone
}
