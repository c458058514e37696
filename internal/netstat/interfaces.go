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

// Interfaces gives the counters of all interfaces.
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

// decodeInterface reads an ifinfomsg; IFLA_STATS64 is a struct rtnl_link_stats64.
func decodeInterface(body []byte) (Interface, error) {
	a, err := attributes(body, unix.SizeofIfInfomsg)
	if err != nil {
		return Interface{}, err
	}
	stats := a[unix.IFLA_STATS64]
	return Interface{
		Index: int(int32(u32(body, 4))), Name: text(a[unix.IFLA_IFNAME]),
		ReceivedPackets: u64(stats, 0), SentPackets: u64(stats, 8),
		ReceivedBytes: u64(stats, 16), SentBytes: u64(stats, 24),
		ReceivedDrops: u64(stats, 48), SentDrops: u64(stats, 56),
	}, nil
}
