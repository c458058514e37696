package push

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"ncp-testbed/internal/telemetry"
)

// How long InfluxDB may take for the last points of an output.
const (
	outputDrain      = 10 * time.Second
	interruptedDrain = 4 * time.Second
)

// Output takes a program's points into a spool and, where there are
// credentials, from there to InfluxDB.
type Output struct {
	spool  *telemetry.Spool
	pusher *Pusher // nil: the spool is all
	log    io.Writer
	failed sync.Once
}

// OpenOutput opens the spool and starts to push it; without credentials
// nothing is pushed.
func OpenOutput(spool string, cfg telemetry.Config, credentials *telemetry.Credentials, log io.Writer) (*Output, error) {
	o := &Output{log: log}
	var err error
	if o.spool, err = telemetry.OpenSpool(spool); err != nil {
		return nil, err
	}
	if credentials != nil {
		o.pusher = Start(cfg, *credentials, log, spool)
	}
	return o, nil
}

// Append writes points to the spool. It reports the first failure only: a full
// disk would fill the log too.
func (o *Output) Append(p *telemetry.Points) {
	if err := o.spool.Append(p); err != nil {
		o.failed.Do(func() { fmt.Fprintln(o.log, err) })
	}
}

// Close closes the spool and pushes the rest, for a shorter time where ctx is
// cancelled. It returns what became of the points (without credentials how many
// there are), what to warn of, and the spool's error.
func (o *Output) Close(ctx context.Context) (counts telemetry.Counts, warnings []string, err error) {
	err = o.spool.Close()
	counts.Points = o.spool.Points()
	if lost := o.spool.Lost(); lost > 0 {
		warnings = append(warnings, fmt.Sprintf("telemetry: %d points never got into the spool", lost))
	}
	if o.pusher == nil {
		return counts, warnings, err
	}
	drain := outputDrain
	if ctx.Err() != nil {
		drain = interruptedDrain
	}
	counts = o.pusher.Close(drain)
	if unpushed := o.pusher.Err(); unpushed != nil {
		warnings = append(warnings, unpushed.Error())
	}
	return counts, warnings, err
}
