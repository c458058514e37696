package relay

import "ncp-testbed/internal/interfaces"

// backlog tells of frames that got lost between the relay and a host, although the interface took them: the
// receiving side of a veth pair has room for net.core.netdev_max_backlog frames on each processor.
type backlog struct {
	interfaces *interfaces.File
	before     map[string]interfaces.Counters
}

func openBacklog() (*backlog, error) {
	file, err := interfaces.Open()
	if err != nil {
		return nil, err
	}
	before, err := file.Read()
	return &backlog{file, before}, err
}

func (b *backlog) close() { _ = b.interfaces.Close() }

// drops are the frames that each interface has dropped since the start, those included that it refused while it
// was down.
func (b *backlog) drops() (map[string]uint64, error) {
	now, err := b.interfaces.Read()
	if err != nil {
		return nil, err
	}
	drops := map[string]uint64{}
	for name, counters := range now {
		drops[name] = counters.TransmitDropped - b.before[name].TransmitDropped
	}
	return drops, nil
}
