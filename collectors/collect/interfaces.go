package collect

import (
	"errors"
	"fmt"
	"time"

	"ncp-testbed/collectors/watch"
	"ncp-testbed/internal/netstat"
	"ncp-testbed/internal/telemetry"
)

// interfaces samples the counters of the links' ends and of the queues at their egress, and what netem does.
type interfaces struct {
	run   tags
	hosts []*hostInterfaces
}

type hostInterfaces struct {
	host, path string
	watched    map[string]watch.Interface // by name
	netem      []*netem
	namespace  *netstat.Namespace
	tags       map[source]telemetry.Tags
}

// source is what points are of: an interface, or a queue at its egress.
type source struct{ at, kind, handle string }

func newInterfaces(list *watch.List, run tags) (sampler, time.Duration) {
	s := &interfaces{run: run}
	byHost := map[string]*hostInterfaces{}
	at := func(host string) *hostInterfaces {
		if byHost[host] == nil {
			byHost[host] = &hostInterfaces{
				host: host, path: list.Namespaces[host],
				watched: map[string]watch.Interface{}, tags: map[source]telemetry.Tags{},
			}
			s.hosts = append(s.hosts, byHost[host])
		}
		return byHost[host]
	}
	for _, w := range list.Interfaces {
		at(w.Host).watched[w.Interface] = w
	}
	for _, w := range list.Netem {
		h := at(w.Host)
		h.netem = append(h.netem, newNetem(w, run))
	}
	return s, list.Interval()
}

func (s *interfaces) close() {
	for _, h := range s.hosts {
		if h.namespace != nil {
			h.namespace.Close()
		}
	}
}

func (s *interfaces) sample(_ time.Time, p *telemetry.Points) error {
	var failed error
	for _, h := range s.hosts {
		if err := h.sample(s.run, p); err != nil {
			failed = errors.Join(failed, fmt.Errorf("host %s: %w", h.host, err))
		}
	}
	return failed
}

func (h *hostInterfaces) sample(run tags, p *telemetry.Points) error {
	if h.namespace == nil {
		namespace, err := netstat.Route(h.path)
		if err != nil {
			return err
		}
		h.namespace = namespace
	}
	found, err := h.namespace.Interfaces()
	if err != nil {
		return err
	}
	at, names := time.Now(), map[int]string{}
	for _, i := range found {
		names[i.Index] = i.Name
		if w, ok := h.watched[i.Name]; ok {
			addInterface(p, h.tagsOf(run, w, "", ""), i, at)
		}
	}
	queues, err := h.namespace.Queues()
	if err != nil {
		return err
	}
	at = time.Now()
	for _, q := range queues {
		if w, ok := h.watched[names[q.Interface]]; ok && !silent[q.Kind] {
			addQueue(p, h.tagsOf(run, w, q.Kind, q.Handle), q, at)
		}
	}
	for _, n := range h.netem {
		n.add(p, names, queues, at)
	}
	return nil
}

// tagsOf are made once for an interface, and once for each queue at its egress.
func (h *hostInterfaces) tagsOf(run tags, w watch.Interface, kind, handle string) telemetry.Tags {
	key := source{w.Interface, kind, handle}
	made, ok := h.tags[key]
	if !ok {
		made = telemetry.MakeTags(run.with(tags{
			"host": w.Host, "interface": w.Interface, "link": w.Link, "direction": string(w.Direction),
			"kind": kind, "handle": handle,
		}))
		h.tags[key] = made
	}
	return made
}

func addInterface(p *telemetry.Points, t telemetry.Tags, i netstat.Interface, at time.Time) {
	p.Add("interface", t, at,
		telemetry.Int("sent_bytes", i.SentBytes), telemetry.Int("sent_packets", i.SentPackets),
		telemetry.Int("sent_drops", i.SentDrops), telemetry.Int("received_bytes", i.ReceivedBytes),
		telemetry.Int("received_packets", i.ReceivedPackets), telemetry.Int("received_drops", i.ReceivedDrops))
}

// silent are queues that do not queue, or not what leaves.
var silent = map[string]bool{"noqueue": true, "ingress": true, "clsact": true, "mq": true}

func addQueue(p *telemetry.Points, t telemetry.Tags, q netstat.Queue, at time.Time) {
	p.Add("qdisc", t, at,
		telemetry.Int("bytes", q.Bytes), telemetry.Int("packets", q.Packets), telemetry.Int("drops", q.Drops),
		telemetry.Int("overlimits", q.Overlimits), telemetry.Int("requeues", q.Requeues),
		telemetry.Int("backlog_bytes", q.BacklogBytes), telemetry.Int("backlog_packets", q.BacklogPackets),
		telemetry.Float("rate_bps", q.RateBPS))
}
