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
}

func newInterfaces(list *watch.List, run tags) (sampler, time.Duration) {
	s := &interfaces{run: run}
	byHost := map[string]*hostInterfaces{}
	at := func(host string) *hostInterfaces {
		if byHost[host] == nil {
			byHost[host] = &hostInterfaces{host: host, path: list.Namespaces[host], watched: map[string]watch.Interface{}}
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
			addInterface(p, run, w, i, at)
		}
	}
	queues, err := h.namespace.Queues()
	if err != nil {
		return err
	}
	at = time.Now()
	for _, q := range queues {
		if w, ok := h.watched[names[q.Interface]]; ok {
			addQueue(p, run, w, q, at)
		}
	}
	for _, n := range h.netem {
		n.add(p, names, queues, at)
	}
	return nil
}

func endTags(run tags, w watch.Interface) tags {
	return run.with(tags{"host": w.Host, "interface": w.Interface, "link": w.Link, "direction": string(w.Direction)})
}

func addInterface(p *telemetry.Points, run tags, w watch.Interface, i netstat.Interface, at time.Time) {
	p.Add("interface", telemetry.MakeTags(endTags(run, w)), at,
		telemetry.Int("sent_bytes", i.SentBytes), telemetry.Int("sent_packets", i.SentPackets),
		telemetry.Int("sent_drops", i.SentDrops), telemetry.Int("received_bytes", i.ReceivedBytes),
		telemetry.Int("received_packets", i.ReceivedPackets), telemetry.Int("received_drops", i.ReceivedDrops))
}

// silent are queues that do not queue, or not what leaves.
var silent = map[string]bool{"noqueue": true, "ingress": true, "clsact": true, "mq": true}

func addQueue(p *telemetry.Points, run tags, w watch.Interface, q netstat.Queue, at time.Time) {
	if silent[q.Kind] {
		return
	}
	t := endTags(run, w).with(tags{"kind": q.Kind, "handle": q.Handle})
	p.Add("qdisc", telemetry.MakeTags(t), at,
		telemetry.Int("bytes", q.Bytes), telemetry.Int("packets", q.Packets), telemetry.Int("drops", q.Drops),
		telemetry.Int("overlimits", q.Overlimits), telemetry.Int("requeues", q.Requeues),
		telemetry.Int("backlog_bytes", q.BacklogBytes), telemetry.Int("backlog_packets", q.BacklogPackets),
		telemetry.Float("rate_bps", q.RateBPS))
}
