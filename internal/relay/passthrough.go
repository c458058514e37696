package relay

import (
	"runtime"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"ncp-testbed/internal/plan"
)

// Passthrough passes frames on by the same packet sockets as a [Relay] and does nothing else: no delay, no copy of its
// own, no records. What it carries is an upper bound of what any relay by these sockets could on a machine.
type Passthrough struct {
	receiver *receiver
	sender   *sender
	towards  []int32 // the interface that frames go to, by that at which they arrive
	stopping atomic.Bool
}

// OpenPassthrough binds to the middle interfaces of all links, in the current network namespace.
func OpenPassthrough(links []plan.Link) (*Passthrough, error) {
	devices, err := middles(links)
	if err != nil {
		return nil, err
	}
	b := &Passthrough{}
	var indexes []int
	maxMTU := 0
	for i, device := range devices {
		for len(b.towards) <= device.Index {
			b.towards = append(b.towards, -1)
		}
		b.towards[device.Index] = int32(devices[i^1].Index)
		indexes = append(indexes, device.Index)
		maxMTU = max(maxMTU, device.MTU)
	}
	if b.sender, err = openSender(false); err != nil {
		return nil, err
	}
	if b.receiver, err = openReceiver(maxMTU + maxHeaderBytes); err != nil {
		b.sender.close()
		return nil, err
	}
	if err := b.receiver.listen(indexes); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// Run passes frames on until Stop, on a thread of its own with the relay's priority. It calls ready when it begins.
func (b *Passthrough) Run(ready func()) error {
	runtime.LockOSThread() // for good
	acquire()
	ready()
	for !b.stopping.Load() {
		if b.passOn() == 0 {
			_ = unix.Nanosleep(&passthroughNap, nil)
		}
	}
	return nil
}

// passthroughNap is how long frames are left alone when there were none: it costs more to be woken for each.
var passthroughNap = unix.NsecToTimespec(int64(maxNap) / 4)

// passOn sends what has arrived, straight from the ring, a batch at most. What an interface does not take is lost.
func (b *Passthrough) passOn() int {
	first, s := b.receiver.next, b.sender
	var frame arrived
	for !s.full() && b.receiver.take(&frame) {
		s.addTo(b.towards[frame.ifindex], frame.bytes)
		b.receiver.hold()
	}
	taken := s.count
	for sent := 0; sent < taken; {
		n, errno := s.send(sent)
		if sent += n; errno != 0 {
			sent++
		}
	}
	s.count, b.receiver.next = 0, first
	for range taken {
		b.receiver.release()
	}
	return taken
}

// Stop ends Run.
func (b *Passthrough) Stop() { b.stopping.Store(true) }

// Close gives back what OpenPassthrough took, once Run has ended.
func (b *Passthrough) Close() {
	b.receiver.close()
	b.sender.close()
}
