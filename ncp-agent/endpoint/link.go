package endpoint

import (
	"fmt"
	"time"

	"ncp-testbed/ncp-agent/session"
)

// maxBatch is the most packets of one sendmmsg or recvmmsg. Full ones of the
// default MTU are one run of segments.
const maxBatch = session.MaxBatch

// link is one connection's socket and its two goroutines' state.
type link struct {
	index  int
	opener opener

	// Under the driver's lock.
	socket socket // nil while there is none
	idle   bool   // its writer waits for wake
	breaks breaks
	left   bool          // ended by a peer that had the session's close
	resume chan struct{} // while reading is paused: closed at its end or by another pause

	wake chan struct{} // it is its turn
	out  [][]byte      // buffers of the writer
}

func newLink(index int, o opener, packetBytes int) *link {
	l := &link{index: index, opener: o, wake: make(chan struct{}, 1), out: make([][]byte, maxBatch)}
	for i := range l.out {
		l.out[i] = make([]byte, 0, packetBytes)
	}
	return l
}

// writeLoop sends what the session has for a connection, a batch each time that
// it is the connection's turn.
func (d *Driver) writeLoop(l *link) {
	defer d.wg.Done()
	defer d.closeWrite(l)
	for {
		s, n := d.collect(l)
		if n == 0 {
			select {
			case <-l.wake:
				continue
			case <-d.life.Done():
				return
			}
		}
		err := d.transmit(l, s, l.out[:n])
		switch {
		case err != nil && d.stopping():
			return
		case err != nil && l.opener.stream():
			d.broke(l, s, fmt.Errorf("writing: %w", err))
		}
	}
}

// collect takes a batch of packets from the session, and the socket that they
// are for; none while it is another connection's turn.
func (d *Driver) collect(l *link) (s socket, taken int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	d.turns.Ask(l.index)
	if next, _ := d.turns.Next(); next != l.index {
		return nil, 0
	}
	for n := d.turns.Packets(); l.socket != nil && taken < n; taken++ {
		packet, ok := d.session.NextPacket(now, l.index, l.out[taken][:0])
		if !ok {
			break
		}
		l.out[taken] = packet
	}
	d.turns.End(taken)
	l.idle = taken == 0
	if taken > 0 {
		d.notify()
	} else {
		d.wakeNext()
	}
	return l.socket, taken
}

// wakeNext wakes the connection whose turn it is. The lock is held.
func (d *Driver) wakeNext() {
	if next, ok := d.turns.Next(); ok {
		wake(d.links[next].wake)
	}
}

// transmit sends a turn's packets and reports to the session what became of them.
func (d *Driver) transmit(l *link, s socket, packets [][]byte) error {
	refused, full := 0, false
	for len(packets) > 0 {
		n, err := s.write(packets)
		if err != nil && s.transient(err) && refused < 3 {
			refused++ // the error was an earlier packet's; the socket is clear again
			continue
		}
		d.mu.Lock()
		if err != nil {
			if !l.opener.stream() && !d.stopping() {
				d.session.WriteError(d.now(), l.index)
				d.notify()
			}
			d.turns.Sent(l.index, false)
			d.mu.Unlock()
			return err
		}
		d.session.Sent(d.now(), l.index, n)
		packets = packets[n:]
		full = full || len(packets) > 0 // it did not take them at once
		d.turns.Sent(l.index, !full)
		d.mu.Unlock()
	}
	return nil
}

// readLoop hands the session what arrives on a connection, and opens the
// connection again whenever it breaks.
func (d *Driver) readLoop(l *link) {
	defer d.wg.Done()
	failures := 0
	for {
		s := d.socketOf(l)
		if s == nil {
			if !d.reopen(l) {
				return
			}
			continue
		}
		packets, err := s.read()
		switch {
		case err == nil:
			failures = 0
			d.deliver(l, packets)
		case d.stopping():
			return
		case l.opener.stream():
			d.broke(l, s, fmt.Errorf("reading: %w", err))
		case s.transient(err):
		default:
			if failures++; failures == 10 {
				d.fail(fmt.Errorf("connection %d: reading: %w", l.index+1, err))
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// deliver passes packets to the session, after a pause if reading is paused.
func (d *Driver) deliver(l *link, packets [][]byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for l.resume != nil {
		resume := l.resume
		d.mu.Unlock()
		select {
		case <-resume:
		case <-d.life.Done():
		}
		d.mu.Lock()
		if d.stopping() {
			return
		}
	}
	now := d.now()
	for _, packet := range packets {
		// A bad packet is dropped and counted by the session.
		_ = d.session.Receive(now, l.index, packet)
	}
	d.notify()
}
