// Package faces drives a node, which does no I/O, with sockets and a clock.
package faces

import (
	"context"
	"slices"
	"sync"
	"time"

	"ncp-testbed/ndn-agent/lp"
)

// turn is how often a node looks at its timers.
const turn = 5 * time.Millisecond

// Node is what runs on faces. Its methods are called one at a time.
type Node interface {
	// Receive takes a packet that a face got; it is good until Receive returns.
	Receive(now time.Duration, face int, p lp.Packet)
	// Expire is for timers.
	Expire(now time.Duration)
	FaceDown(face int)
}

// Engine runs one node.
type Engine struct {
	mu    sync.Mutex
	node  Node
	faces []*Face
	free  []int    // places of faces that are gone
	gone  Counters // of those faces, together
	// Of the faces that peers made: how many there are, and were.
	accepted, named int
	origin          time.Time

	failure chan error
	waiting func(error)
	ctx     context.Context
	cancel  context.CancelFunc
	ended   sync.WaitGroup
}

// New makes an engine; waiting is called with what the faces wait for.
func New(ctx context.Context, waiting func(error)) *Engine {
	e := &Engine{origin: time.Now(), failure: make(chan error, 1), waiting: waiting}
	e.ctx, e.cancel = context.WithCancel(ctx)
	return e
}

// Start gives the engine its node, and the node its turns.
func (e *Engine) Start(node Node) {
	e.node = node
	e.ended.Go(func() {
		ticker := time.NewTicker(turn)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				e.Do(func(now time.Duration) { node.Expire(now) })
			case <-e.ctx.Done():
				return
			}
		}
	})
}

// Do runs something in the node's turn.
func (e *Engine) Do(f func(now time.Duration)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f(e.now())
}

func (e *Engine) now() time.Duration { return time.Since(e.origin) }

// Time returns the wall clock's time of a moment of the engine's.
func (e *Engine) Time(at time.Duration) time.Time { return e.origin.Add(at) }

// Open begins to open faces, numbered in their order, and returns a function
// that waits until all are. It comes after Start, and before Listen.
func (e *Engine) Open(configs []FaceConfig) (wait func() error) {
	first := make(chan error, len(configs))
	for _, c := range configs {
		f := e.addFace(c)
		e.ended.Go(func() {
			open := false
			err := f.run(e.ctx, func() {
				if !open {
					open = true
					first <- nil
				}
			})
			switch {
			case !open:
				first <- err
			case err != nil && e.ctx.Err() == nil:
				e.fail(err)
			}
		})
	}
	return func() error {
		for range configs {
			if err := <-first; err != nil {
				e.cancel() // the other faces need not wait
				return err
			}
		}
		return nil
	}
}

// addFace makes a face, in the place of one that is gone where there is one.
func (e *Engine) addFace(c FaceConfig) *Face {
	e.mu.Lock()
	defer e.mu.Unlock()
	index := len(e.faces)
	if n := len(e.free); n > 0 {
		index, e.free = e.free[n-1], e.free[:n-1]
	} else {
		e.faces = append(e.faces, nil)
	}
	f := newFace(e, index, c)
	e.faces[index] = f
	return f
}

// removeFace forgets a face that is down for good.
func (e *Engine) removeFace(f *Face) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.node.FaceDown(f.index)
	e.gone.add(f.counted())
	e.faces[f.index] = nil
	f.gone = true
	e.free = append(e.free, f.index)
}

// Send sends a packet on a face; for the node, in its turn.
func (e *Engine) Send(face int, p lp.Packet) {
	if f := e.faces[face]; f != nil {
		f.send(e.now(), p)
	}
}

// States returns all faces as they are.
func (e *Engine) States() []State {
	e.mu.Lock()
	defer e.mu.Unlock()
	var states []State
	for _, f := range e.faces {
		if f != nil {
			states = append(states, f.state())
		}
	}
	return slices.Clip(states)
}

// Gone returns the counts of the faces that are no more, together.
func (e *Engine) Gone() Counters {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.gone
}

// Failure returns the error of a face that can't go on.
func (e *Engine) Failure() <-chan error { return e.failure }

func (e *Engine) fail(err error) {
	select {
	case e.failure <- err:
	default:
	}
}

func (e *Engine) wait(reason error) {
	if e.waiting != nil {
		e.waiting(reason)
	}
}

// Close ends all faces.
func (e *Engine) Close() {
	e.cancel()
	e.mu.Lock()
	for _, f := range e.faces {
		if f != nil && f.link != nil {
			f.link.close()
		}
	}
	e.mu.Unlock()
	e.ended.Wait()
}
