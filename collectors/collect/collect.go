// Package collect samples what the agents don't see of themselves: interfaces and queues of the links' ends, what
// is queued in sockets, and TCP_INFO. Each collector has a thread and a spool of its own and reports its own cost.
package collect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"sync"
	"time"

	"ncp-testbed/collectors/watch"
	"ncp-testbed/internal/telemetry"
)

// Result is what a collector says of itself at its end.
type Result struct {
	Collector string  `json:"collector"`
	Samples   int     `json:"samples"`
	Points    int     `json:"points"`
	Errors    int     `json:"errors"`
	CPUS      float64 `json:"cpu_s"`
	DurationS float64 `json:"duration_s"`
	LateMaxMS float64 `json:"late_max_ms"`
}

// sampler takes one sample of all that it watches. It opens what it needs in the first one.
type sampler interface {
	sample(at time.Time, p *telemetry.Points) error
	close()
}

// kind is a collector as it is known: its name, which is its spool's as well, and what starts it for a run. One with
// nothing to watch there is none (nil).
type kind struct {
	name  string
	start func(list *watch.List, run tags) (sampler, time.Duration)
}

// kinds lists the collectors.
var kinds = []kind{
	{"interfaces", newInterfaces},
	{"sockets", newSocketQueues},
	{"tcp_info", newTCPInfo},
}

// Names returns the name of every collector.
func Names() []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.name
	}
	return names
}

// Run samples until the context ends. The spools <collector>.lp are in the directory; log receives a line for the
// first error of each collector, which goes on.
func Run(ctx context.Context, list *watch.List, directory string, log io.Writer) ([]Result, error) {
	run := tags{"run": list.Run, "scenario": list.Scenario}
	var collectors []*collector
	for _, k := range kinds {
		if s, interval := k.start(list, run); s != nil {
			collectors = append(collectors, &collector{name: k.name, interval: interval, sampler: s})
		}
	}
	for i, c := range collectors {
		spool, err := telemetry.OpenSpool(filepath.Join(directory, c.name+".lp"))
		if err != nil {
			for _, opened := range collectors[:i] {
				err = errors.Join(err, opened.spool.Close())
			}
			return nil, err
		}
		c.spool, c.log = spool, log
		c.tags = telemetry.MakeTags(run.with(tags{"collector": c.name}))
	}
	var done sync.WaitGroup
	results, failed := make([]Result, len(collectors)), make([]error, len(collectors))
	for i, c := range collectors {
		done.Go(func() { results[i], failed[i] = c.run(ctx) })
	}
	done.Wait()
	return results, errors.Join(failed...)
}

// collector drives one sampler at its interval.
type collector struct {
	name     string
	interval time.Duration
	sampler  sampler
	spool    *telemetry.Spool
	tags     telemetry.Tags
	log      io.Writer
	result   Result
}

func (c *collector) run(ctx context.Context) (Result, error) {
	cost := startCost()
	defer c.sampler.close()
	begun := time.Now()
	c.result.Collector = c.name
	var points telemetry.Points
	reported, late := begun, time.Duration(0)
	for due := begun; ; {
		at := time.Now()
		late = max(late, at.Sub(due))
		c.report(c.sampler.sample(at, &points))
		c.result.Samples++
		if since := at.Sub(reported); since >= time.Second {
			points.Add("collector", c.tags, at, telemetry.Float("cpu", cost.since()/since.Seconds()),
				telemetry.Int("samples", c.result.Samples), telemetry.Float("late_ms", late.Seconds()*1e3))
			c.result.LateMaxMS = max(c.result.LateMaxMS, late.Seconds()*1e3)
			reported, late = at, 0
		}
		c.report(c.spool.Append(&points))
		due = telemetry.NextStep(time.Now(), c.interval)
		select {
		case <-ctx.Done():
			c.result.CPUS, c.result.DurationS = cost.total(), time.Since(begun).Seconds()
			err := c.spool.Close()
			c.result.Points = c.spool.Points()
			return c.result, err
		case <-time.After(time.Until(due)):
		}
	}
}

func (c *collector) report(err error) {
	if err == nil {
		return
	}
	if c.result.Errors++; c.result.Errors == 1 {
		fmt.Fprintf(c.log, "%s: %v\n", c.name, err)
	}
}

// tags by name; those that are empty are left out of a point.
type tags map[string]string

// with returns these tags and more.
func (t tags) with(more tags) tags {
	all := maps.Clone(t)
	maps.Copy(all, more)
	return all
}
