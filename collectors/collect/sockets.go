package collect

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"ncp-testbed/collectors/watch"
	"ncp-testbed/internal/netstat"
	"ncp-testbed/internal/telemetry"
)

// sockets asks for the sockets of the watched flows and adds a point for each.
type sockets struct {
	run   tags
	info  bool // asks for TCP_INFO
	hosts []*hostSockets
	add   func(p *telemetry.Points, t telemetry.Tags, s *netstat.Socket, at time.Time)
}

type hostSockets struct {
	host, path string
	flows      map[uint8]*flows // by protocol
	namespace  *netstat.Namespace
}

var protocolNumbers = map[string]uint8{"udp": unix.IPPROTO_UDP, "tcp": unix.IPPROTO_TCP}

func newSocketQueues(list *watch.List, run tags) (sampler, time.Duration) {
	return newSockets(list, run, false, addQueues, "udp", "tcp"), list.Interval()
}

func newTCPInfo(list *watch.List, run tags) (sampler, time.Duration) {
	return newSockets(list, run, true, addTCPInfo, "tcp"), list.TCPInterval()
}

// newSockets watches the flows of the given protocols; nil where a run has none.
func newSockets(
	list *watch.List, run tags, info bool,
	add func(*telemetry.Points, telemetry.Tags, *netstat.Socket, time.Time), protocols ...string,
) sampler {
	s := &sockets{run: run, info: info, add: add}
	byHost := map[string]*hostSockets{}
	for _, w := range list.Sockets {
		for _, protocol := range protocols {
			if w.Protocol != protocol {
				continue
			}
			h := byHost[w.Host]
			if h == nil {
				h = &hostSockets{host: w.Host, path: list.Namespaces[w.Host], flows: map[uint8]*flows{}}
				byHost[w.Host] = h
				s.hosts = append(s.hosts, h)
			}
			number := protocolNumbers[protocol]
			if h.flows[number] == nil {
				h.flows[number] = new(flows)
			}
			h.flows[number].add(&flow{watched: w})
		}
	}
	if len(s.hosts) == 0 {
		return nil
	}
	return s
}

func (s *sockets) close() {
	for _, h := range s.hosts {
		if h.namespace != nil {
			h.namespace.Close()
		}
	}
}

func (s *sockets) sample(_ time.Time, p *telemetry.Points) error {
	var failed error
	for _, h := range s.hosts {
		if err := s.sampleHost(h, p); err != nil {
			failed = errors.Join(failed, fmt.Errorf("host %s: %w", h.host, err))
		}
	}
	return failed
}

func (s *sockets) sampleHost(h *hostSockets, p *telemetry.Points) error {
	if h.namespace == nil {
		namespace, err := netstat.Diag(h.path)
		if err != nil {
			return err
		}
		h.namespace = namespace
	}
	for protocol, flows := range h.flows {
		found, err := h.namespace.Sockets(protocol, s.info)
		if err != nil {
			return err
		}
		at := time.Now()
		for i := range found {
			flows.take(&found[i])
		}
		for _, f := range flows.all {
			s.addFlow(f, p, at)
		}
	}
	return nil
}

// addFlow adds a point for each socket that the flow has taken, and leaves it without any.
func (s *sockets) addFlow(f *flow, p *telemetry.Points, at time.Time) {
	f.slots.keep(f.own)
	for _, own := range f.own {
		if slot := f.slots.number(own.Cookie); slot > 0 {
			s.add(p, s.tags(f, slot, own.CongestionControl), own, at)
		}
	}
	f.own = f.own[:0]
}

// tags are made once for a socket.
func (s *sockets) tags(f *flow, slot int, congestionControl string) telemetry.Tags {
	t := &f.tags[slot-1]
	if t.known && t.congestionControl == congestionControl {
		return t.made
	}
	w := f.watched
	named := s.run.with(tags{
		"host": w.Host, "flow": w.Flow, "role": w.Role, "protocol": w.Protocol, "session": w.Session,
		"connection": w.Connection, "socket": strconv.Itoa(slot), "congestion_control": congestionControl,
	})
	if s.info {
		delete(named, "protocol") // there is but one
	}
	*t = socketTags{congestionControl, telemetry.MakeTags(named), true}
	return t.made
}

func addQueues(p *telemetry.Points, t telemetry.Tags, s *netstat.Socket, at time.Time) {
	p.Add("socket_queue", t, at,
		telemetry.Int("send_queue_bytes", int(s.SendQueueBytes)), telemetry.Int("receive_queue_bytes", int(s.ReceiveQueueBytes)),
		telemetry.Int("send_buffer_bytes", int(s.SendBufferBytes)),
		telemetry.Int("receive_buffer_bytes", int(s.ReceiveBufferBytes)), telemetry.Int("drops", int(s.Drops)))
}
