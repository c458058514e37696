package session

import (
	"errors"
	"io"
	"time"
)

// A session carries a stream, or messages: upstream's non-stream mode, in
// which a packet is a message. Nothing in the packets says which; the
// applications of both ends have to agree, and may change between messages.

// ErrMessage says that a message does not fit into a packet, or not into the
// send window.
var ErrMessage = errors.New("session: message larger than the MTU or the send window")

// WriteMessage takes b as one message, and reports whether it did: not before
// the handshake, and not while flow control or the queue of unsent packets
// leave no room. An empty message is nothing, as upstream has it.
func (s *Session) WriteMessage(now time.Duration, b []byte) (taken bool, err error) {
	s.observe(now)
	o := &s.sender
	switch {
	case s.state > Established:
		return false, ErrClosed
	case s.state < Established:
		return false, nil
	case len(b) > o.mtu || uint64(len(b)) > o.window:
		return false, ErrMessage
	case len(b) == 0:
		return true, nil
	}
	if len(o.partial) > 0 && o.room() {
		o.seal() // what was written as a stream before
	}
	if len(o.partial) > 0 || !o.room() || o.used()+uint64(len(b)) > o.window {
		return false, nil
	}
	o.partial = append(o.buffers.get(len(b)), b...)
	o.written += uint64(len(b))
	o.seal()
	return true, nil
}

// ReadMessage reads one message into b and returns its length, 0 when there is
// none yet. One that is longer than b stays, with io.ErrShortBuffer. After the
// end it returns the errors of Read.
func (s *Session) ReadMessage(now time.Duration, b []byte) (int, error) {
	now = s.observe(now)
	r := &s.receiver
	for a := r.head(); a != nil; a = r.head() {
		n := len(a.data) - a.taken
		if n > len(b) {
			return 0, io.ErrShortBuffer
		}
		r.take(a, b)
		if n > 0 {
			r.note(now, n)
			return n, nil
		}
	}
	return 0, s.ended()
}
