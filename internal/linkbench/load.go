package linkbench

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"ncp-testbed/internal/linkmodel"
	"ncp-testbed/internal/netns"
	"ncp-testbed/internal/netstat"
	"ncp-testbed/internal/plan"
	"ncp-testbed/internal/quantile"
	"ncp-testbed/internal/sockets"
	"ncp-testbed/internal/timestamping"
	"ncp-testbed/internal/timing"
)

// Loaded is what became of a load on many links. Packets are counted by the hosts' interfaces.
type Loaded struct {
	Seconds    float64           `json:"seconds"`
	Directions []LoadedDirection `json:"directions"`
	// BehindMS is by how much the generator was behind its own schedule, at the 99th percentile.
	BehindMS float64 `json:"generator_behind_p99_ms"`
	// ExtraDelays are one-way delays beyond the links' own, from before the generator's system call to the
	// receiving host, of a sample of all packets.
	ExtraDelayP50MS float64 `json:"extra_delay_p50_ms"`
	ExtraDelayP99MS float64 `json:"extra_delay_p99_ms"`
	Samples         int     `json:"samples"`
}

// LoadedDirection is one direction of one link.
type LoadedDirection struct {
	Link      string              `json:"link"`
	Direction linkmodel.Direction `json:"direction"`
	Sent      uint64              `json:"sent"`
	Received  uint64              `json:"received"`
}

// LoadOptions say what to offer to each link in each direction.
type LoadOptions struct {
	Namespaces map[string]string // of the hosts, paths
	PPS        float64
	Duration   time.Duration
}

const (
	loadPort = 29_997
	// groups is into how many parts a period is divided, each with its share of the links: links in a run
	// do not all send at once, and one system call for each packet would starve the middle.
	groups = 8
	// sampleEvery is of how many rounds one is timed at the receiver.
	sampleEvery = 16
)

// generator sends from one host on all its links.
type generator struct {
	fd      int
	headers []unix.Mmsghdr
	payload []byte
	behind  []time.Duration
}

// Load offers full-size packets on all links, which must be between two hosts, in both directions at once.
func Load(links []plan.Link, o LoadOptions) (Loaded, error) {
	hosts := [2]string{links[0].A.Host, links[0].B.Host}
	var generators [2]*generator
	var counters [2]*netstat.Namespace
	var samplers [2]*sampler
	for e, host := range hosts {
		path, ok := o.Namespaces[host]
		if !ok {
			return Loaded{}, fmt.Errorf("--netns %s=PATH: not given", host)
		}
		err := netns.Within(path, func() (err error) {
			if generators[e], err = newGenerator(links, e); err != nil {
				return err
			}
			if samplers[e], err = newSampler(links, 1-e); err != nil {
				return err
			}
			counters[e], err = netstat.RouteHere()
			return err
		})
		if err != nil {
			return Loaded{}, fmt.Errorf("host %s: %w", host, err)
		}
		defer unix.Close(generators[e].fd)
		defer unix.Close(samplers[e].fd)
		defer counters[e].Close()
	}
	before, err := readBoth(counters)
	if err != nil {
		return Loaded{}, err
	}
	time.Sleep(timestamping.Settling)
	begun := time.Now()
	var sending, sampling sync.WaitGroup
	done := make(chan struct{})
	var failed [2][2]error
	for e, g := range generators {
		sampling.Go(func() { failed[1][e] = samplers[e].run(done) })
		sending.Go(func() { failed[0][e] = g.run(o.PPS, o.Duration) })
	}
	sending.Wait()
	seconds := time.Since(begun).Seconds()
	longest := 0.0
	for i := range links {
		longest = max(longest, links[i].Emulated[0].DelayMS, links[i].Emulated[1].DelayMS)
	}
	time.Sleep(timing.Milliseconds(longest) + 200*time.Millisecond)
	close(done)
	sampling.Wait()
	if err := errors.Join(slices.Concat(failed[0][:], failed[1][:])...); err != nil {
		return Loaded{}, err
	}
	after, err := readBoth(counters)
	if err != nil {
		return Loaded{}, err
	}
	found := Loaded{Seconds: seconds}
	for i := range links {
		ends := [2]string{links[i].A.Interface, links[i].B.Interface}
		for e, name := range linkmodel.Directions {
			found.Directions = append(found.Directions, LoadedDirection{
				Link: links[i].Name, Direction: name,
				Sent:     after[e][ends[e]].SentPackets - before[e][ends[e]].SentPackets,
				Received: after[1-e][ends[1-e]].ReceivedPackets - before[1-e][ends[1-e]].ReceivedPackets,
			})
		}
	}
	behind := slices.Sorted(slices.Values(slices.Concat(generators[0].behind, generators[1].behind)))
	extra := slices.Sorted(slices.Values(slices.Concat(samplers[0].extra, samplers[1].extra)))
	found.BehindMS = ms(quantile.Of(behind, 0.99))
	found.ExtraDelayP50MS, found.ExtraDelayP99MS = ms(quantile.Of(extra, 0.5)), ms(quantile.Of(extra, 0.99))
	found.Samples = len(extra)
	return found, nil
}

func readBoth(both [2]*netstat.Namespace) (found [2]map[string]netstat.Interface, err error) {
	for i, namespace := range both {
		if found[i], err = namespace.InterfacesByName(); err != nil {
			return found, err
		}
	}
	return found, nil
}

func newGenerator(links []plan.Link, end int) (*generator, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	g := &generator{fd: fd, headers: make([]unix.Mmsghdr, len(links)), payload: make([]byte, links[0].FrameBytes-14-ipUDPBytes)}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, receiveBufferBytes); err != nil {
		return nil, fmt.Errorf("SO_SNDBUFFORCE: %w", err)
	}
	vector := &unix.Iovec{Base: &g.payload[0]}
	vector.SetLen(len(g.payload))
	for i := range links {
		address, err := netip.ParseAddr([2]string{links[i].B.Address, links[i].A.Address}[end])
		if err != nil {
			return nil, err
		}
		to := &unix.RawSockaddrInet4{Family: unix.AF_INET, Port: loadPort>>8 | loadPort&0xff<<8, Addr: address.As4()}
		h := &g.headers[i].Hdr
		h.Name, h.Namelen = (*byte)(unsafe.Pointer(to)), uint32(unsafe.Sizeof(*to))
		h.Iov = vector
		h.SetIovlen(1)
	}
	return g, nil
}

// generatorPriority is a real-time one, so that other programs do not make bursts of an even load, but below
// the relay's.
const generatorPriority = 5

// run sends one packet on each link in each period, for a time. Behind schedule, it catches up.
func (g *generator) run(pps float64, duration time.Duration) error {
	runtime.LockOSThread() // for good: the thread ends with the goroutine, and its priority with it
	err := unix.SchedSetAttr(0, &unix.SchedAttr{
		Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: generatorPriority,
	}, 0)
	if err != nil {
		return fmt.Errorf("real-time priority (root's, in a control group that has some): sched_setattr: %w", err)
	}
	begun := time.Now()
	rounds := int(duration.Seconds() * pps)
	parts := min(groups, len(g.headers))
	for round := range rounds {
		for part := range parts {
			due := time.Duration((float64(round) + float64(part)/float64(parts)) / pps * 1e9)
			if ahead := due - time.Since(begun); ahead > 0 {
				// Not time.Sleep, by which another thread, of ordinary priority, would have to wake this one.
				pause := unix.NsecToTimespec(int64(ahead))
				_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &pause, nil)
			}
			now := time.Now()
			g.behind = append(g.behind, now.Sub(begun)-due)
			binary.BigEndian.PutUint32(g.payload, uint32(round))
			binary.BigEndian.PutUint64(g.payload[4:], uint64(timing.Now()))
			if err := g.send(part*len(g.headers)/parts, (part+1)*len(g.headers)/parts); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *generator) send(first, end int) error {
	for first < end {
		n, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(g.fd), uintptr(unsafe.Pointer(&g.headers[first])),
			uintptr(end-first), 0, 0, 0)
		switch errno {
		case 0:
			first += int(n)
		case unix.EINTR, unix.ENOBUFS:
		default:
			return fmt.Errorf("sendmmsg: %w", errno)
		}
	}
	return nil
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

// sampler receives of the load what is to be timed; the kernel drops the rest.
type sampler struct {
	fd     int
	delays map[[4]byte]time.Duration // by the sender's address
	extra  []time.Duration
}

// everySample takes one of sampleEvery packets. A UDP socket's filter sees the UDP header first: the round's number is
// at 8.
var everySample = []bpf.Instruction{
	bpf.LoadAbsolute{Off: 8, Size: 4},
	bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: sampleEvery - 1, SkipFalse: 1},
	bpf.RetConstant{Val: 0},
	bpf.RetConstant{Val: 64},
}

// newSampler is for what the given end sends.
func newSampler(links []plan.Link, end int) (*sampler, error) {
	s := &sampler{delays: map[[4]byte]time.Duration{}}
	for i := range links {
		address, err := netip.ParseAddr([2]string{links[i].A.Address, links[i].B.Address}[end])
		if err != nil {
			return nil, err
		}
		s.delays[address.As4()] = timing.Milliseconds(links[i].Emulated[end].DelayMS)
	}
	var err error
	if s.fd, err = unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return nil, err
	}
	if err := sockets.AttachFilter(s.fd, everySample); err != nil {
		return nil, err
	}
	if err := unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, receiveBufferBytes); err != nil {
		return nil, fmt.Errorf("SO_RCVBUFFORCE: %w", err)
	}
	if err := receiveTimeout(s.fd); err != nil {
		return nil, err
	}
	if err := timestamping.Set(s.fd, timestamping.Receives); err != nil {
		return nil, err
	}
	return s, unix.Bind(s.fd, &unix.SockaddrInet4{Port: loadPort})
}

func (s *sampler) run(done <-chan struct{}) error {
	return receive(s.fd, done, func(packet, control []byte, from unix.Sockaddr) {
		if sender, ok := from.(*unix.SockaddrInet4); ok {
			s.add(packet, control, sender.Addr)
		}
	})
}

// add times a packet that belongs to the load and has a timestamp.
func (s *sampler) add(packet, control []byte, sender [4]byte) {
	delay, known := s.delays[sender]
	arrived, stamped := timestamping.FromControl(control)
	if known && stamped && len(packet) >= 12 {
		s.extra = append(s.extra, arrived.Sub(timing.Unix(binary.BigEndian.Uint64(packet[4:])))-delay)
	}
}
