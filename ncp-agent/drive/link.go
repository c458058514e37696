package drive

import (
	"fmt"
	"slices"
	"time"

	"ncp-testbed/ncp-agent/session"

	"golang.org/x/net/ipv4"
)

// maxBatch is the most packets of one sendmmsg or recvmmsg.
const maxBatch = 64

// link is one connection's socket and the buffers of its two goroutines.
type link struct {
	index  int
	socket socket
	wake   chan struct{}
	idle   bool // its writer waits for wake; under the driver's lock
	ended  bool // its stream is over; under the driver's lock

	out, in  []ipv4.Message
	outLimit int // most packets taken at once

	resume chan struct{} // while reading is paused: closed at its end or by another pause; under the driver's lock
}

func newLink(index int, socket socket, packetBytes, sendBufferPackets int) *link {
	l := &link{index: index, socket: socket, wake: make(chan struct{}, 1), outLimit: maxBatch}
	if sendBufferPackets > 0 {
		// What waits for a full socket is lost to the other connections:
		// keep it small beside the buffer.
		l.outLimit = min(maxBatch, max(1, sendBufferPackets/8))
	}
	l.out, l.in = messages(l.outLimit, packetBytes), messages(maxBatch, packetBytes)
	return l
}

func messages(n, size int) []ipv4.Message {
	list := make([]ipv4.Message, n)
	for i := range list {
		list[i].Buffers = [][]byte{make([]byte, size)}
	}
	return list
}

// writeLoop sends what the session has for a connection. It takes one packet
// at a time while the socket is full, and up to twice as many as before each
// time that the socket has taken all.
func (d *Driver) writeLoop(l *link) {
	defer d.wg.Done()
	defer l.socket.closeWrite()
	take := 1
	for {
		n := d.collect(l, take)
		if n == 0 {
			select {
			case <-l.wake:
				continue
			case <-d.stop:
				return
			}
		}
		full, err := d.transmit(l, l.out[:n])
		switch {
		case err != nil && stopped(err):
			return
		case err != nil && l.socket.stream():
			d.end(l, fmt.Errorf("writing: %w", err))
			return
		case err != nil || full:
			take = 1
		default:
			take = min(2*take, l.outLimit)
		}
	}
}

// collect takes up to n packets from the session.
func (d *Driver) collect(l *link, n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	taken := 0
	for ; taken < n; taken++ {
		m := &l.out[taken]
		packet, ok := d.session.NextPacket(now, l.index, m.Buffers[0][:0])
		if !ok {
			break
		}
		m.Buffers[0] = packet
	}
	l.idle = taken == 0
	if taken > 0 {
		d.settle()
	}
	return taken
}

// transmit sends packets and tells the session what became of them. Full says
// that the socket did not take them at once.
func (d *Driver) transmit(l *link, packets []ipv4.Message) (full bool, err error) {
	refused := 0
	for len(packets) > 0 {
		n, err := l.socket.WriteBatch(packets, 0)
		if err != nil && l.socket.transient(err) && refused < 3 {
			refused++ // the error was an earlier packet's; the socket is clear again
			continue
		}
		d.mu.Lock()
		if err != nil {
			if !d.stopping() {
				d.session.WriteError(d.now(), l.index)
				d.settle()
			}
			d.mu.Unlock()
			return true, err
		}
		d.session.Sent(d.now(), l.index, n)
		d.mu.Unlock()
		packets = packets[n:]
		full = full || len(packets) > 0
	}
	return full, nil
}

// readLoop gives the session what arrives on a connection.
func (d *Driver) readLoop(l *link) {
	defer d.wg.Done()
	failures := 0
	for {
		n, err := l.socket.ReadBatch(l.in, 0)
		switch {
		case err == nil:
			failures = 0
		case stopped(err):
			return
		case l.socket.stream():
			d.end(l, fmt.Errorf("reading: %w", err))
			return
		case l.socket.transient(err):
			continue
		default:
			if failures++; failures == 10 {
				d.fail(fmt.Errorf("connection %d: reading: %w", l.index+1, err))
				return
			}
			time.Sleep(10 * time.Millisecond)
			continue
		}
		d.deliver(l, l.in[:n])
	}
}

// end notes that a connection is over before its session: that goes on over
// the others, and fails with the last.
func (d *Driver) end(l *link, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l.ended || d.session.State() == session.Closed {
		return
	}
	l.ended = true
	l.socket.shut(0)
	err = fmt.Errorf("connection %d ended, %w", l.index+1, err)
	d.broken = append(d.broken, err.Error())
	if !slices.ContainsFunc(d.links, func(l *link) bool { return !l.ended }) {
		d.fail(err)
	}
}

// deliver gives packets to the session, after a pause if reading is paused.
func (d *Driver) deliver(l *link, packets []ipv4.Message) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for l.resume != nil {
		resume := l.resume
		d.mu.Unlock()
		select {
		case <-resume:
		case <-d.stop:
		}
		d.mu.Lock()
		if d.stopping() {
			return
		}
	}
	now := d.now()
	for i := range packets {
		// A bad packet is dropped and counted by the session.
		_ = d.session.Receive(now, l.index, packets[i].Buffers[0][:packets[i].N])
	}
	d.settle()
}

func (d *Driver) stopping() bool {
	select {
	case <-d.stop:
		return true
	default:
		return false
	}
}
