package relay

import (
	"errors"

	"ncp-testbed/internal/netstat"
)

// backlog counts frames that got lost between the relay and a host, although the interface took them: the
// receiving side of a veth pair has room for net.core.netdev_max_backlog frames on each processor.
type backlog struct {
	interfaces *netstat.Namespace
	before     map[string]netstat.Interface
}

func openBacklog() (*backlog, error) {
	here, err := netstat.RouteHere()
	if err != nil {
		return nil, err
	}
	before, err := here.InterfacesByName()
	if err != nil {
		return nil, errors.Join(err, here.Close())
	}
	return &backlog{here, before}, nil
}

func (b *backlog) close() { _ = b.interfaces.Close() }

// drops are the frames that each interface has dropped since the start, those included that it refused while it
// was down.
func (b *backlog) drops() (map[string]uint64, error) {
	now, err := b.interfaces.InterfacesByName()
	if err != nil {
		return nil, err
	}
	drops := map[string]uint64{}
	for name, counters := range now {
		drops[name] = counters.SentDrops - b.before[name].SentDrops
	}
	return drops, nil
}
