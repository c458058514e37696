package relay

import (
	"slices"

	"golang.org/x/net/bpf"
)

// interfaceFilter is a socket filter that takes frames of the given interface indexes only. The middle's
// interfaces share the namespace with the management network.
func interfaceFilter(indexes []int) []bpf.Instruction {
	const all = 0x40000
	program := []bpf.Instruction{bpf.LoadExtension{Num: bpf.ExtInterfaceIndex}}
	indexes = slices.Sorted(slices.Values(indexes))
	for i := 0; i < len(indexes); {
		first, last := indexes[i], indexes[i]
		for i < len(indexes) && indexes[i] <= last+1 {
			last = indexes[i]
			i++
		}
		program = append(program,
			bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: uint32(first), SkipTrue: 1},
			bpf.RetConstant{Val: 0},
			bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: uint32(last), SkipTrue: 1},
			bpf.RetConstant{Val: all},
		)
	}
	return append(program, bpf.RetConstant{Val: 0})
}
