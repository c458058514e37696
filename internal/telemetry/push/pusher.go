// Package push tails spool files and writes their points in batches to InfluxDB's
// v1 API.
package push

import (
	"context"
	"errors"
	"io"
	"log"
	"time"

	"ncp-testbed/internal/telemetry"
)

// Timing of a pusher.
const (
	pollInterval = 500 * time.Millisecond // how often to look for new lines: each write costs InfluxDB, however short
	firstBackoff = 100 * time.Millisecond // after a failed write, doubled each time
	maxBackoff   = 2 * time.Second
	drainBackoff = 500 * time.Millisecond // at most, once Close was called
)

// Pusher tails spool files and writes their points to InfluxDB, from its own
// goroutine. It tries a batch again until it is taken, or until it is closed.
type Pusher struct {
	client  *client
	tails   []*tail
	counts  telemetry.Counts
	splits  int // how many more refused batches may be halved
	out     *log.Logger
	faults  *journal // of spools and of rejected points
	err     error
	closing chan struct{}
	done    chan struct{}

	ctx         context.Context // until the end of the drain
	cancel      context.CancelFunc
	early       context.Context // until half of the drain is over
	cancelEarly context.CancelFunc
}

// Start starts to push the spools. They may not exist yet. Messages
// about failures go to out, one of a kind.
func Start(cfg telemetry.Config, credentials telemetry.Credentials, out io.Writer, spools ...string) *Pusher {
	p := &Pusher{
		client: newClient(cfg, credentials), splits: maxSplits, out: log.New(out, "telemetry: ", 0),
		closing: make(chan struct{}), done: make(chan struct{}),
	}
	p.faults = newJournal(p.out)
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.early, p.cancelEarly = context.WithCancel(p.ctx)
	for _, path := range spools {
		p.tails = append(p.tails, &tail{path: path})
	}
	go p.run()
	return p
}

// Close pushes what the spools still hold, for at most the given time, and
// returns the final counts. The writers of the spools must be done. A spool that
// never appeared has no points.
func (p *Pusher) Close(drain time.Duration) telemetry.Counts {
	close(p.closing)
	// A write that hangs at half time is tried again on another connection.
	half, end := time.AfterFunc(drain/2, p.cancelEarly), time.AfterFunc(drain, p.cancel)
	<-p.done
	half.Stop()
	end.Stop()
	p.cancel()
	p.client.http.CloseIdleConnections()
	for _, t := range p.tails {
		left, err := t.rest()
		if err != nil {
			p.faults.once(err.Error())
			p.err = errors.Join(p.err, err)
		}
		p.counts.Points += left
	}
	if p.counts.Rejected > 0 {
		p.out.Printf("InfluxDB rejected %d of %d points", p.counts.Rejected, p.counts.Points)
	}
	if left := p.counts.Points - p.counts.Pushed - p.counts.Rejected; left > 0 {
		p.out.Printf("%d of %d points are only in the spool: InfluxDB took no more within %v", left, p.counts.Points, drain)
	}
	return p.counts
}

// Err reports, after Close, spools that could not be read to their end: no
// permission, a last line without a newline, a file that shrank.
func (p *Pusher) Err() error { return p.err }

func (p *Pusher) run() {
	defer close(p.done)
	for {
		closing := p.isClosing() // before the last look, so that nothing is missed
		for _, t := range p.tails {
			if !p.push(t) {
				return
			}
		}
		if closing {
			return
		}
		p.wait(pollInterval)
	}
}

// push writes all whole lines that a file has now. It returns false when the
// time to drain is over.
func (p *Pusher) push(t *tail) bool {
	for {
		b, err := t.next()
		if err != nil {
			p.faults.once(err.Error())
			return true
		}
		if len(b.lines) == 0 {
			return true
		}
		if !p.deliver(t, b.lines, b.points) {
			return false
		}
	}
}

// persist writes until InfluxDB answers with a yes or a *rejection; any other
// error is that of the drain's end.
func (p *Pusher) persist(lines []byte, points int) error {
	outage := newJournal(p.out)
	for backoff, failures := firstBackoff, 0; ; backoff, failures = min(2*backoff, maxBackoff), failures+1 {
		err := p.client.write(p.writeContext(), lines, points)
		if _, refused := errors.AsType[*rejection](err); err == nil || refused {
			if failures > 0 {
				p.out.Printf("InfluxDB answers again, after %d failed writes", failures)
			}
			return err
		}
		if p.ctx.Err() != nil {
			return err
		}
		outage.once("the spool holds what InfluxDB does not take: " + err.Error())
		p.wait(backoff)
	}
}

// writeContext ends when a write that begins now has taken too long.
func (p *Pusher) writeContext() context.Context {
	if p.early.Err() != nil {
		return p.ctx
	}
	return p.early
}

// wait pauses, less long once the pusher is closing.
func (p *Pusher) wait(d time.Duration) {
	if p.isClosing() {
		select {
		case <-time.After(min(d, drainBackoff)):
		case <-p.ctx.Done():
		}
		return
	}
	select {
	case <-time.After(d):
	case <-p.closing:
	}
}

func (p *Pusher) isClosing() bool {
	select {
	case <-p.closing:
		return true
	default:
		return false
	}
}
