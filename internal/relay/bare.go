package relay

import (
	"runtime"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"ncp-testbed/internal/plan"
)

// Bare passes frames on by the same packet sockets as a [Relay] and does nothing else: no delay, no copy of its own, no
// records. What it bears is the most that any relay by these sockets could on a machine.
type Bare struct {
	receiver *receiver
	sender   *sender
	towards  []int32 // the interface that frames go to, by that at which they arrive
	stopping atomic.Bool
}

// OpenBare binds to the middle interfaces of all links, in the current network namespace.
func OpenBare(links []plan.Link) (*Bare, error) {
	devices, err := middles(links)
	if err != nil {
		return nil, err
	}
	b := &Bare{}
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
func (b *Bare) Run(ready func()) error {
	runtime.LockOSThread() // for good
	acquire()
	ready()
	for !b.stopping.Load() {
		if b.passOn() == 0 {
			_ = unix.Nanosleep(&bareNap, nil)
		}
	}
	return nil
}

// bareNap is how long frames are left alone when there were none: it costs more to be woken for each.
var bareNap = unix.NsecToTimespec(int64(maxNap) / 4)

// passOn sends what has arrived, straight from the ring, a batch at most. What an interface does not take is lost.
func (b *Bare) passOn() int {
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
func (b *Bare) Stop() { b.stopping.Store(true) }

// Close gives back what OpenBare took, once Run has ended.
func (b *Bare) Close() {
	b.receiver.close()
	b.sender.close()
}
