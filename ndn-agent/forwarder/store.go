package forwarder

import (
	"container/list"
	"slices"
	"time"

	"ncp-testbed/ndn-agent/packet"
)

// store keeps Data that passed, the least recently used going first. It
// answers Interests for the exact name.
type store struct {
	limit int
	byUse *list.List // of stored, the latest in front
	named map[packet.Name]*list.Element
}

type stored struct {
	name  packet.Name
	wire  []byte
	stale time.Duration // from then on it is not fresh
}

func newStore(limit int) *store {
	return &store{limit: limit, byUse: list.New(), named: map[packet.Name]*list.Element{}}
}

func (s *store) find(now time.Duration, i *packet.Interest) []byte {
	element := s.named[i.Name]
	if element == nil {
		return nil
	}
	found := element.Value.(*stored)
	if i.MustBeFresh && now >= found.stale {
		return nil
	}
	s.byUse.MoveToFront(element)
	return found.wire
}

func (s *store) insert(now time.Duration, d *packet.Data) {
	entry := &stored{d.Name, slices.Clone(d.Wire), now + d.Freshness}
	if element := s.named[d.Name]; element != nil {
		element.Value = entry
		s.byUse.MoveToFront(element)
		return
	}
	s.named[d.Name] = s.byUse.PushFront(entry)
	if s.byUse.Len() > s.limit {
		last := s.byUse.Back()
		delete(s.named, s.byUse.Remove(last).(*stored).name)
	}
}
