package relay

import (
	"slices"

	"golang.org/x/sys/unix"
)

// Offset of a packet's interface index among the ancillary data of classic BPF (linux/filter.h).
const ancillaryInterface = 0xfffff000 + 8

// interfaceFilter is a socket filter that takes frames of the given interface indexes only. The middle's
// interfaces share the namespace with the management network.
func interfaceFilter(indexes []int) []unix.SockFilter {
	const all = 0x40000
	program := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: ancillaryInterface}}
	indexes = slices.Sorted(slices.Values(indexes))
	for i := 0; i < len(indexes); {
		first, last := indexes[i], indexes[i]
		for i < len(indexes) && indexes[i] <= last+1 {
			last = indexes[i]
			i++
		}
		program = append(program,
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, Jt: 1, K: uint32(first)},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: 0},
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K, Jt: 1, K: uint32(last)},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: all},
		)
	}
	return append(program, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: 0})
}
