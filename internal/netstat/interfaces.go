package netstat

import "golang.org/x/sys/unix"

// Interface is what an interface has counted since it is there.
type Interface struct {
	Index                             int
	Name                              string
	SentBytes, SentPackets, SentDrops uint64
	ReceivedBytes, ReceivedPackets    uint64
	ReceivedDrops                     uint64
}

// Interfaces returns the counters of all interfaces.
func (n *Namespace) Interfaces() ([]Interface, error) {
	var found []Interface
	err := n.dump(unix.RTM_GETLINK, make([]byte, unix.SizeofIfInfomsg), func(body []byte) error {
		i, err := decodeInterface(body)
		if err == nil {
			found = append(found, i)
		}
		return err
	})
	return found, err
}

// InterfacesByName returns the counters of all interfaces by their names.
func (n *Namespace) InterfacesByName() (map[string]Interface, error) {
	all, err := n.Interfaces()
	found := make(map[string]Interface, len(all))
	for _, i := range all {
		found[i.Name] = i
	}
	return found, err
}

// decodeInterface reads an ifinfomsg; IFLA_STATS64 is a struct rtnl_link_stats64.
func decodeInterface(body []byte) (Interface, error) {
	var i Interface
	err := each(body, unix.SizeofIfInfomsg, func(kind uint16, value []byte) {
		switch kind {
		case unix.IFLA_IFNAME:
			i.Name = text(value)
		case unix.IFLA_STATS64:
			i.ReceivedPackets, i.SentPackets = u64(value, 0), u64(value, 8)
			i.ReceivedBytes, i.SentBytes = u64(value, 16), u64(value, 24)
			i.ReceivedDrops, i.SentDrops = u64(value, 48), u64(value, 56)
		}
	})
	i.Index = int(int32(u32(body, 4)))
	return i, err
}
