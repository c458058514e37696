package telemetry

import (
	"context"
	"errors"
	"io"
	"log"
	"time"
)

// Counts tell what became of the points of a pusher's spools:
// Points = Pushed + Rejected + what InfluxDB could not be given in time.
type Counts struct {
	Points   int `json:"points"`
	Pushed   int `json:"pushed"`
	Rejected int `json:"rejected"`
}

// Timing of a pusher.
const (
	pollInterval = 200 * time.Millisecond // how often to look for new lines
	firstBackoff = 100 * time.Millisecond // after a failed write, doubled each time
	maxBackoff   = 5 * time.Second
	drainBackoff = 500 * time.Millisecond // at most, once Close was called
)

// Pusher tails spool files and writes their points to InfluxDB, from its own
// goroutine. It tries a batch again until it is taken, or until it is closed.
type Pusher struct {
	client  *client
	tails   []*tail
	counts  Counts
	log     *log.Logger
	closing chan struct{}
	cancel  context.CancelFunc
	ctx     context.Context
	done    chan struct{}
}

// StartPusher starts to push the spools. They may not exist yet. Messages
// about failures go to out.
func StartPusher(cfg Config, credentials Credentials, out io.Writer, spools ...string) *Pusher {
	p := &Pusher{
		client: newClient(cfg, credentials), log: log.New(out, "telemetry: ", 0),
		closing: make(chan struct{}), done: make(chan struct{}),
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	for _, path := range spools {
		p.tails = append(p.tails, &tail{path: path})
	}
	go p.run()
	return p
}

// Close pushes what the spools still hold, for at most the given time, and
// gives the final counts. The writers of the spools must be done.
func (p *Pusher) Close(drain time.Duration) Counts {
	close(p.closing)
	timer := time.AfterFunc(drain, p.cancel)
	<-p.done
	timer.Stop()
	p.cancel()
	for _, t := range p.tails {
		left, err := t.rest()
		if err != nil {
			p.log.Printf("counting %s: %v", t.path, err)
		}
		p.counts.Points += left
	}
	if left := p.counts.Points - p.counts.Pushed - p.counts.Rejected; left > 0 {
		p.log.Printf("%d of %d points are only in the spool: InfluxDB took no more within %v", left, p.counts.Points, drain)
	}
	return p.counts
}

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

// push writes all whole lines that a file has now. It gives false when the
// time to drain is over.
func (p *Pusher) push(t *tail) bool {
	for {
		b, err := t.next()
		if err != nil {
			p.log.Printf("reading %s: %v", t.path, err)
			return true
		}
		if b.end == t.offset {
			return true
		}
		if b.points > 0 && !p.deliver(b.lines, b.points) {
			return false
		}
		t.offset = b.end
	}
}

// deliver writes one batch until InfluxDB has taken or rejected it. Some
// faults of a single point make it refuse the whole batch: the halves then go
// by themselves, down to the points at fault.
func (p *Pusher) deliver(lines []byte, points int) bool {
	err := p.persist(lines, points)
	refused, final := errors.AsType[*rejection](err)
	switch {
	case err == nil:
		p.count(points, 0)
	case !final:
		return false
	case refused.points < points || points == 1:
		p.log.Print(refused)
		p.count(points, refused.points)
	default:
		half, n := wholeLines(lines, points/2)
		return p.deliver(lines[:half], n) && p.deliver(lines[half:], points-n)
	}
	return true
}

func (p *Pusher) count(points, rejected int) {
	p.counts.Points += points
	p.counts.Rejected += rejected
	p.counts.Pushed += points - rejected
}

// persist writes until InfluxDB answers with a yes or a *rejection; any other
// error is that of the drain's end.
func (p *Pusher) persist(lines []byte, points int) error {
	for backoff, failures := firstBackoff, 0; ; backoff, failures = min(2*backoff, maxBackoff), failures+1 {
		err := p.client.write(p.ctx, lines, points)
		if _, refused := errors.AsType[*rejection](err); err == nil || refused {
			if failures > 0 {
				p.log.Printf("InfluxDB answers again, after %d failed writes", failures)
			}
			return err
		}
		if p.ctx.Err() != nil {
			return err
		}
		if failures == 0 {
			p.log.Printf("the spool holds what InfluxDB does not take: %v", err)
		}
		p.wait(backoff)
	}
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
