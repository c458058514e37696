// Package agent runs one NDN node, consumer, forwarder or producer: by a
// run's plan, or on its own.
package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"time"

	"ncp-testbed/ndn-agent/faces"
	"ncp-testbed/ndn-agent/fetch"
	"ncp-testbed/ndn-agent/forwarder"
	"ncp-testbed/ndn-agent/lp"
	"ncp-testbed/ndn-agent/marking"
	"ncp-testbed/ndn-agent/produce"
)

// consumer is a fetch on one face. All of it is used in the engine's turns.
type consumer struct {
	fetcher *fetch.Fetcher
	config  fetch.Config
	sum     hash.Hash
	rtts    []time.Duration // of the segments that were requested once
	done    chan struct{}   // closed at the end

	started  time.Duration
	finished time.Duration

	// Since the last sample.
	rttSum, rttMax time.Duration
	rttCount       int
}

// newConsumer fetches over the engine's first face, into out; log gets a line
// per segment where it is not nil.
func newConsumer(e *faces.Engine, c fetch.Config, out io.Writer, log *segmentLog) *consumer {
	n := &consumer{config: c, sum: sha256.New(), done: make(chan struct{})}
	send := func(p lp.Packet) { e.Send(0, p) }
	n.fetcher = fetch.New(c, send, func(content []byte) error {
		n.sum.Write(content)
		_, err := out.Write(content)
		return err
	})
	n.fetcher.Observe = func(a fetch.Arrival) {
		if a.RTT > 0 {
			n.rtts = append(n.rtts, a.RTT)
			n.rttSum += a.RTT
			n.rttMax = max(n.rttMax, a.RTT)
			n.rttCount++
		}
		log.add(a)
	}
	return n
}

func (n *consumer) start(now time.Duration) {
	n.started = now
	n.fetcher.Start(now)
}

func (n *consumer) Receive(now time.Duration, _ int, p lp.Packet) {
	n.fetcher.Receive(now, p)
	n.look(now)
}

func (n *consumer) Expire(now time.Duration) {
	if n.started == 0 {
		return
	}
	n.fetcher.Expire(now)
	n.look(now)
}

func (n *consumer) FaceDown(int) {}

// look notes the end once.
func (n *consumer) look(now time.Duration) {
	if over, _ := n.fetcher.Done(); over && n.finished == 0 {
		n.finished = now
		close(n.done)
	}
}

// report notes what was fetched; in the engine's turn, or after its end.
func (n *consumer) report(e *faces.Engine, r *Result) {
	end := n.finished
	if n.started != 0 && end == 0 {
		end = time.Since(e.Time(0))
	}
	if n.started != 0 {
		r.finish(e.Time(n.started), e.Time(end))
	}
	r.addFetch(n.config, n.fetcher.Stats(), n.rtts)
	r.SHA256 = hex.EncodeToString(n.sum.Sum(nil))
}

// router is a forwarder; the state machine is a node by itself.
type router struct {
	*forwarder.Forwarder
	marking marking.Config
}

func newRouter(e *faces.Engine, c forwarder.Config, m marking.Config) *router {
	return &router{forwarder.New(c, e.Send), m}
}

func (n *router) report(_ *faces.Engine, r *Result) {
	r.ForwarderResult = &ForwarderResult{n.Stats, markingResult(n.marking)}
}

// server is a producer that answers on the face that asks. The producer's send
// needs the server, so it comes second.
type server struct {
	producer *produce.Producer
	face     int // that the present Interest came from
}

func (n *server) Receive(_ time.Duration, face int, p lp.Packet) {
	n.face = face
	n.producer.Receive(p)
}

func (n *server) Expire(time.Duration) {}
func (n *server) FaceDown(int)         {}

func (n *server) report(_ *faces.Engine, r *Result) {
	s := n.producer.Stats
	r.Bytes, r.SHA256, r.Segments = n.producer.Bytes(), n.producer.SHA256(), uint64(n.producer.Segments())
	r.ProducerResult = &ProducerResult{ObjectBytes: n.producer.Bytes(), Interests: s.Interests, Answered: s.Answered, Unknown: s.Unknown}
}

// node is what all three are.
type node interface {
	faces.Node
	report(e *faces.Engine, r *Result)
}
