package forwarder

import (
	"container/heap"
	"slices"
	"time"

	"ncp-testbed/ndn-agent/packet"
)

// key tells Interests apart that may have different answers.
type key struct {
	name        packet.Name
	canBePrefix bool
	mustBeFresh bool
}

// downstream is one who waits for the Data.
type downstream struct {
	face   int
	nonce  uint32
	expiry time.Duration
	token  string
}

// entry is a pending Interest.
type entry struct {
	key
	downstreams []downstream // one per face
	upstream    int
	sentNonce   uint32
	expiry      time.Duration // the latest of the downstreams'
	at          int           // in the queue
}

// loops reports whether an Interest came around: a nonce that another face, or the
// forwarder itself, has used for it. The same one from the same face is a
// duplicate on the way and stands for the same request.
func (e *entry) loops(face int, nonce uint32) bool {
	return slices.ContainsFunc(e.downstreams, func(d downstream) bool { return d.nonce == nonce && d.face != face })
}

// from reports whether a face waits for the Data already.
func (e *entry) from(face int) bool {
	return slices.ContainsFunc(e.downstreams, func(d downstream) bool { return d.face == face })
}

// pending reports whether an answer may come still.
func (e *entry) pending(now time.Duration) bool { return e.upstream != nobody && now <= e.expiry }

// pit is the pending Interest table.
type pit struct {
	entries  map[key]*entry
	queue    queue // the one that expires first is first
	prefixes int   // entries that Data of a longer name may satisfy
	found    []*entry
}

func newPIT() pit { return pit{entries: map[key]*entry{}} }

func (p *pit) len() int { return len(p.entries) }

func keyOf(i *packet.Interest) key { return key{i.Name, i.CanBePrefix, i.MustBeFresh} }

func (p *pit) find(i *packet.Interest) *entry { return p.entries[keyOf(i)] }

func (p *pit) insert(i *packet.Interest) *entry {
	e := &entry{key: keyOf(i)}
	p.entries[e.key] = e
	if e.canBePrefix {
		p.prefixes++
	}
	heap.Push(&p.queue, e)
	return e
}

// await notes that a face waits for an entry's Data, anew if it did already.
func (p *pit) await(e *entry, now time.Duration, face int, nonce uint32, lifetime time.Duration, token string) {
	d := downstream{face, nonce, now + lifetime, token}
	if i := slices.IndexFunc(e.downstreams, func(d downstream) bool { return d.face == face }); i >= 0 {
		e.downstreams[i] = d
	} else {
		e.downstreams = append(e.downstreams, d)
	}
	e.expiry = 0
	for _, d := range e.downstreams {
		e.expiry = max(e.expiry, d.expiry)
	}
	heap.Fix(&p.queue, e.at)
}

func (p *pit) remove(e *entry) {
	delete(p.entries, e.key)
	if e.canBePrefix {
		p.prefixes--
	}
	heap.Remove(&p.queue, e.at)
}

// nobody is the upstream of an entry whose face is gone.
const nobody = -1

// forget takes a face out of all entries. Those that nobody waits for any more
// go when they expire.
func (p *pit) forget(face int) {
	for _, e := range p.entries {
		e.downstreams = slices.DeleteFunc(e.downstreams, func(d downstream) bool { return d.face == face })
		if e.upstream == face {
			e.upstream = nobody
		}
	}
}

// satisfy takes out the entries that Data from a face answers: those that went
// to that face. The list is good until the next call.
func (p *pit) satisfy(name packet.Name, face int) []*entry {
	p.found = p.found[:0]
	take := func(k key) {
		if e := p.entries[k]; e != nil && e.upstream == face {
			p.remove(e)
			p.found = append(p.found, e)
		}
	}
	take(key{name, false, false})
	take(key{name, false, true})
	if p.prefixes > 0 {
		for prefix := range name.Prefixes {
			take(key{prefix, true, false})
			take(key{prefix, true, true})
		}
	}
	return p.found
}

// expire drops what is over and returns how many entries that were.
func (p *pit) expire(now time.Duration) int {
	count := 0
	for ; len(p.queue) > 0 && now > p.queue[0].expiry; count++ {
		p.remove(p.queue[0])
	}
	return count
}

// queue is a heap of entries by their expiry.
type queue []*entry

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].expiry < q[j].expiry }
func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].at, q[j].at = i, j
}
func (q *queue) Push(x any) {
	e := x.(*entry)
	e.at = len(*q)
	*q = append(*q, e)
}
func (q *queue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return e
}
