// Package forwarder passes Interests and Data between faces: a pending
// Interest table, a static forwarding table, a content store. It has no I/O and
// no clock, and is called by one goroutine at a time.
package forwarder

import (
	"fmt"
	"math/rand/v2"
	"time"

	"ncp-testbed/ndn-agent/lp"
	"ncp-testbed/ndn-agent/packet"
	"ncp-testbed/ndn-agent/tlv"
)

// maxPending bounds the pending Interest table; what does not fit is refused.
const maxPending = 1 << 16

// maxLifetime bounds how long an Interest is kept, whatever it asks for.
const maxLifetime = time.Minute

// Config is what a forwarder is made with.
type Config struct {
	ContentStorePackets int // 0: none
	// AcceptRegistrations lets peers route prefixes to themselves.
	AcceptRegistrations bool
	Seed                uint64 // of the nonces that it gives to Interests without one
}

// Stats count what the forwarder did.
type Stats struct {
	Pending     int    `json:"pit_entries"`
	PendingMax  int    `json:"pit_entries_max"`
	Aggregated  uint64 `json:"pit_aggregated"` // Interests that waited for another's Data
	Expired     uint64 `json:"pit_expired"`
	Refused     uint64 `json:"pit_refused"` // by the table's bound
	Loops       uint64 `json:"loops"`
	NoRoute     uint64 `json:"no_route"`
	HopLimit    uint64 `json:"hop_limit_reached"`
	Unsolicited uint64 `json:"unasked_data"`
	StoreHits   uint64 `json:"content_store_hits"`
	Malformed   uint64 `json:"malformed"`
}

// Forwarder is one node's.
type Forwarder struct {
	Stats Stats

	config Config
	send   func(face int, p lp.Packet)
	random *rand.Rand
	routes table
	pit    pit
	store  *store // nil: none
}

// New makes a forwarder; send takes what it sends, which is good until send returns.
func New(c Config, send func(face int, p lp.Packet)) *Forwarder {
	f := &Forwarder{config: c, send: send, random: rand.New(rand.NewPCG(c.Seed, 0)), pit: newPIT()}
	if c.ContentStorePackets > 0 {
		f.store = newStore(c.ContentStorePackets)
	}
	return f
}

// AddRoute sends Interests under a prefix to a face, in place of an earlier
// route of that prefix.
func (f *Forwarder) AddRoute(prefix packet.Name, face int) { f.routes.add(prefix, face) }

// FaceDown forgets a face's pending Interests in both directions, and the routes that it
// registered itself: another face may have its number next.
func (f *Forwarder) FaceDown(face int) {
	f.routes.dropRegistered(face)
	f.pit.forget(face)
}

// Receive takes a packet that came from a face. What it can't read is counted.
func (f *Forwarder) Receive(now time.Duration, face int, p lp.Packet) {
	kind, _, err := tlv.Number(p.Network)
	if err == nil {
		switch {
		case p.IsNack:
			err = f.receiveNack(now, face, p)
		case kind == packet.TypeInterest:
			err = f.receiveInterest(now, face, p)
		case kind == packet.TypeData:
			err = f.receiveData(now, face, p)
		default:
			err = fmt.Errorf("a packet of type %#x", kind)
		}
	}
	if err != nil {
		f.Stats.Malformed++
	}
}

func (f *Forwarder) receiveInterest(now time.Duration, face int, p lp.Packet) error {
	interest, err := packet.DecodeInterest(p.Network)
	if err != nil {
		return err
	}
	if f.config.AcceptRegistrations && f.command(face, interest, p.PitToken) {
		return nil
	}
	if f.store != nil {
		if wire := f.store.find(now, interest); wire != nil {
			f.Stats.StoreHits++
			f.send(face, lp.Packet{Network: wire, PitToken: p.PitToken})
			return nil
		}
	}
	interest.Lifetime = min(interest.Lifetime, maxLifetime)
	nonce := interest.Nonce
	if !interest.HasNonce {
		nonce = f.random.Uint32()
	}
	e := f.pit.find(interest)
	if e != nil && e.loops(face, nonce) {
		f.Stats.Loops++
		f.refuse(face, p, lp.NackDuplicate)
		return nil
	}
	if e == nil && f.pit.len() >= maxPending {
		f.Stats.Refused++
		f.refuse(face, p, lp.NackCongestion)
		return nil
	}
	waits := e != nil && !e.from(face)
	if waits && e.pending(now) {
		f.Stats.Aggregated++
		f.pit.await(e, now, face, nonce, interest.Lifetime, p.PitToken)
		return nil
	}
	upstream, ok := f.routes.find(interest.Name, face)
	if !ok {
		f.Stats.NoRoute++
		f.refuse(face, p, lp.NackNoRoute)
		return nil
	}
	wire, ok := interest.ForForwarding(nonce)
	if !ok {
		f.Stats.HopLimit++
		return nil
	}
	if e == nil {
		e = f.pit.insert(interest)
		f.Stats.Pending = f.pit.len()
		f.Stats.PendingMax = max(f.Stats.PendingMax, f.Stats.Pending)
	}
	f.pit.await(e, now, face, nonce, interest.Lifetime, p.PitToken)
	e.upstream, e.sentNonce = upstream, nonce
	f.send(upstream, lp.Packet{Network: wire, Mark: p.Mark})
	return nil
}

// refuse answers an Interest with a Nack.
func (f *Forwarder) refuse(face int, p lp.Packet, reason uint64) {
	f.send(face, lp.Packet{Network: p.Network, PitToken: p.PitToken, IsNack: true, Nack: reason})
}

func (f *Forwarder) receiveData(now time.Duration, face int, p lp.Packet) error {
	data, err := packet.DecodeData(p.Network)
	if err != nil {
		return err
	}
	satisfied := f.pit.satisfy(data.Name, face)
	if len(satisfied) == 0 {
		f.Stats.Unsolicited++
		return nil
	}
	f.Stats.Pending = f.pit.len()
	if f.store != nil {
		f.store.insert(now, data)
	}
	for i, e := range satisfied {
		for j, d := range e.downstreams {
			// A face with several Interests gets the Data once.
			if now <= d.expiry && d.face != face && !askedBefore(satisfied[:i], e.downstreams[:j], now, d.face) {
				f.send(d.face, lp.Packet{Network: p.Network, Mark: p.Mark, PitToken: d.token})
			}
		}
	}
	return nil
}

func askedBefore(entries []*entry, downstreams []downstream, now time.Duration, face int) bool {
	for _, e := range entries {
		for _, d := range e.downstreams {
			if d.face == face && now <= d.expiry {
				return true
			}
		}
	}
	for _, d := range downstreams {
		if d.face == face && now <= d.expiry {
			return true
		}
	}
	return false
}

// receiveNack passes a refusal on to all faces with a pending Interest.
func (f *Forwarder) receiveNack(now time.Duration, face int, p lp.Packet) error {
	interest, err := packet.DecodeInterest(p.Network)
	if err != nil {
		return err
	}
	e := f.pit.find(interest)
	if e == nil || e.upstream != face || interest.HasNonce && interest.Nonce != e.sentNonce {
		return nil // of an Interest that is no longer the latest
	}
	f.pit.remove(e)
	f.Stats.Pending = f.pit.len()
	for _, d := range e.downstreams {
		if now > d.expiry {
			continue
		}
		theirs := packet.Interest{
			Name: interest.Name, CanBePrefix: interest.CanBePrefix, MustBeFresh: interest.MustBeFresh,
			Nonce: d.nonce, Lifetime: interest.Lifetime, HopLimit: -1,
		}
		f.send(d.face, lp.Packet{Network: theirs.Append(nil), PitToken: d.token, IsNack: true, Nack: p.Nack})
	}
	return nil
}

// Expire forgets Interests whose lifetime is over.
func (f *Forwarder) Expire(now time.Duration) {
	f.Stats.Expired += uint64(f.pit.expire(now))
	f.Stats.Pending = f.pit.len()
}
