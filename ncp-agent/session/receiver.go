package session

import (
	"io"
	"time"

	"ncp-testbed/ncp-agent/wire"
)

// receiver holds the data received and not yet read.
type receiver struct {
	segments ring[arrival] // from the first unread packet on
	buffers  *Buffers
	mtu      int    // most bytes of a packet's data
	window   uint32 // bytes
	span     uint64 // how far beyond the first unread packet one may lie
	used     uint32 // bytes held

	received        uint64        // bytes that have arrived, each once
	read            uint64        // of these, bytes that the application has read
	reported        uint64        // of these, bytes reported to the peer
	unreportedSince time.Duration // when the application first read more than that
	repeatAt        time.Duration // when the report is repeated
	repeatIn        time.Duration // how long after the time before
}

// arrival is one received packet's data, or a gap.
type arrival struct {
	data    []byte
	taken   int // bytes already read
	present bool
}

// receiveData keeps a packet's data and notes its acknowledgement on the
// connection it came on. Data beyond the window is not acknowledged.
func (r *receiver) receiveData(c *connection, p *wire.Packet) error {
	if len(p.Data) > r.mtu {
		c.outOfWindow++
		return ErrTooLarge
	}
	position, ok := positionNear(r.segments.base, p.Sequence)
	if !ok {
		c.outOfWindow++
		return ErrSequence
	}
	if r.missing(position) {
		if position-r.segments.base >= r.span || uint64(r.used)+uint64(len(p.Data)) > uint64(r.window) {
			c.outOfWindow++
			return ErrWindowFull
		}
		r.segments.extend(position + 1)
		*r.segments.at(position) = arrival{data: r.buffers.fill(r.buffers.get(len(p.Data)), p.Data), present: true}
		r.used += uint32(len(p.Data))
		r.received += uint64(len(p.Data))
		r.repeatIn = 0
		c.delivered++
	}
	c.received++
	// Beyond the bound a packet stays unacknowledged: its sender will repeat it.
	if uint64(len(c.acks)) < r.span {
		c.acks = append(c.acks, position)
	}
	return nil
}

func (r *receiver) missing(position uint64) bool {
	return position >= r.segments.end || position >= r.segments.base && !r.segments.at(position).present
}

// Readable reports whether Read would return data or io.EOF.
func (s *Session) Readable() bool {
	return s.receiver.head() != nil || s.state == Closed
}

// Read copies received bytes in order into b and returns their number, 0 when
// there are none yet. After the end it returns io.EOF if the peer closed the
// session, ErrClosed if this end did.
func (s *Session) Read(now time.Duration, b []byte) (int, error) {
	now = s.observe(now)
	r := &s.receiver
	n := 0
	for n < len(b) {
		a := r.head()
		if a == nil {
			break
		}
		n += r.take(a, b[n:])
	}
	if n > 0 {
		r.note(now, n)
		return n, nil
	}
	if len(b) > 0 {
		return 0, s.ended()
	}
	return 0, nil
}

// ReadTo is Read without a copy: it hands everything that has been received in
// order to sink, part by part. A part is good until sink returns.
func (s *Session) ReadTo(now time.Duration, sink func(part []byte)) (int, error) {
	now = s.observe(now)
	r := &s.receiver
	n := 0
	for a := r.head(); a != nil; a = r.head() {
		part := a.data[a.taken:]
		sink(part)
		n += len(part)
		r.release(a)
	}
	if n > 0 {
		r.note(now, n)
		return n, nil
	}
	return 0, s.ended()
}

// head returns the first unread packet if it has arrived.
func (r *receiver) head() *arrival {
	if r.segments.len() == 0 {
		return nil
	}
	if a := r.segments.at(r.segments.base); a.present {
		return a
	}
	return nil
}

// take reads from the first unread packet into b.
func (r *receiver) take(a *arrival, b []byte) int {
	n := copy(b, a.data[a.taken:])
	a.taken += n
	if a.taken == len(a.data) {
		r.release(a)
	}
	return n
}

// release recycles the first unread packet's storage: all of it is read.
func (r *receiver) release(a *arrival) {
	r.buffers.put(a.data)
	*a = arrival{}
	r.segments.pop()
}

// note counts bytes that the application has read.
func (r *receiver) note(now time.Duration, n int) {
	if r.reported == r.read {
		r.unreportedSince = now
	}
	r.used -= uint32(n)
	r.read += uint64(n)
}

// ended returns the error of a read when all is read.
func (s *Session) ended() error {
	switch {
	case s.state != Closed:
		return nil
	case s.closing.byPeer:
		return io.EOF
	default:
		return ErrClosed
	}
}

// report returns the bytes read, to be sent to the peer now.
func (r *receiver) report(now time.Duration) uint64 {
	r.reported = r.read
	r.repeatAt = now + r.repeatIn
	return r.read
}

// reportDue reports whether reading has to be reported to the peer that no
// acknowledgement has reported. A peer whose window is full sends nothing
// that could be acknowledged, and waits for ever if the report is lost; so,
// when it may have filled its window and nothing has arrived since, the report
// is repeated at growing intervals. Upstream sends it once.
func (r *receiver) reportDue(now, threshold time.Duration) bool {
	if r.reported < r.read {
		r.repeatIn = max(r.repeatIn, threshold)
		return now-r.unreportedSince >= threshold
	}
	if r.read == 0 || r.received+uint64(r.mtu) <= uint64(r.window) {
		return false
	}
	if r.repeatIn == 0 { // an acknowledgement reported it
		r.repeatIn = threshold
		r.repeatAt = now + threshold
	}
	if now < r.repeatAt {
		return false
	}
	r.repeatIn = min(2*r.repeatIn, maxReportRepeat)
	return true
}
