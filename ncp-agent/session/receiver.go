package session

import (
	"io"
	"time"

	"ncp-testbed/ncp-agent/wire"
)

// receiver holds the data received and not yet read.
type receiver struct {
	segments ring[arrival] // from the first unread packet on
	buffers  buffers
	window   uint32 // bytes
	span     uint64 // how far beyond the first unread packet one may lie
	used     uint32 // bytes held

	read     uint64        // bytes that the application has read
	readAt   time.Duration // when it last read
	reportAt time.Duration // when the peer was last told
}

// arrival is one received packet's data, or a gap.
type arrival struct {
	data    []byte
	taken   int // bytes already read
	present bool
}

// receiveData keeps a packet's data and notes its acknowledgement on the
// connection it came on. Data beyond the window is not acknowledged.
func (r *receiver) receiveData(c *connection, p *wire.Packet, mtu int) error {
	if len(p.Data) > mtu {
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
		*r.segments.at(position) = arrival{data: append(r.buffers.get(len(p.Data)), p.Data...), present: true}
		r.used += uint32(len(p.Data))
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

// Readable reports whether Read would give data or io.EOF.
func (s *Session) Readable() bool {
	r := &s.receiver
	return r.segments.len() > 0 && r.segments.at(r.segments.base).present || s.state == Closed
}

// Read copies received bytes in order into b and gives their number, 0 when
// there are none yet. After the end it gives io.EOF if the peer closed the
// session, ErrClosed if this end did.
func (s *Session) Read(now time.Duration, b []byte) (int, error) {
	now = s.observe(now)
	r := &s.receiver
	n := 0
	for n < len(b) && r.segments.len() > 0 {
		a := r.segments.at(r.segments.base)
		if !a.present {
			break
		}
		part := copy(b[n:], a.data[a.taken:])
		n += part
		a.taken += part
		if a.taken == len(a.data) {
			r.buffers.put(a.data)
			*a = arrival{}
			r.segments.pop()
		}
	}
	if n > 0 {
		r.used -= uint32(n)
		r.read += uint64(n)
		r.readAt = now
		return n, nil
	}
	if s.state == Closed && len(b) > 0 {
		if s.closing.byPeer {
			return 0, io.EOF
		}
		return 0, ErrClosed
	}
	return 0, nil
}

// report gives the bytes read, which the peer is told now.
func (r *receiver) report(now time.Duration) uint64 {
	r.reportAt = now
	return r.read
}

// reportDue reports whether the peer has to be told of reading that no
// acknowledgement has told it of.
func (r *receiver) reportDue(now, threshold time.Duration) bool {
	return r.read > 0 && r.reportAt <= r.readAt && now-r.readAt >= threshold
}
