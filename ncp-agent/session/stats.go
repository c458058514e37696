package session

import "time"

// ConnectionStats is what one connection knows of itself. Counts are of data
// packets since the start.
type ConnectionStats struct {
	WindowPackets   float64
	InFlightPackets int
	RTT             time.Duration // smoothed (RFC 6298), 0 before the first sample
	RTO             time.Duration

	Sent   uint64 // handed to the socket, resends included
	Resent uint64 // of these, not the first of their sequence
	Acked  uint64 // sequences that an acknowledgement on this connection cleared
	Lost   uint64 // timeouts; one packet may time out more than once

	Received  uint64 // arrived, duplicates included
	Delivered uint64 // of these, the first of their sequence
	Refused   uint64 // too large, beyond the window, or of no sequence
}

// Stats is what a session knows of itself.
type Stats struct {
	State         State
	EstablishedAt time.Duration

	WrittenBytes    uint64 // taken from the application
	AckedBytes      uint64 // of these, acknowledged
	ReadBytes       uint64 // given to the application
	SendWindowUsed  uint64 // bytes written and not known to be read by the peer
	ReorderBytes    uint64 // bytes received and not yet read: behind a gap, if the application reads at once
	Unacknowledged  int    // packets
	WaitingResends  int    // packets
	SendWindowBytes uint64 // 0 before the handshake

	Connections []ConnectionStats // one per connection of the configuration
}

// ReadStats fills in the session's numbers, reusing Stats.Connections.
func (s *Session) ReadStats(into *Stats) {
	connections := s.appendStats(into.Connections[:0])
	*into = Stats{
		State: s.state, EstablishedAt: s.establishedAt,
		WrittenBytes: s.sender.written, AckedBytes: s.sender.acked, ReadBytes: s.receiver.read,
		SendWindowUsed: s.sender.used(), ReorderBytes: uint64(s.receiver.used),
		Unacknowledged: s.Unacknowledged(), WaitingResends: s.sender.resends.len(),
		SendWindowBytes: s.sender.window,
		Connections:     connections,
	}
}

// appendStats appends each connection's numbers.
func (s *Session) appendStats(connections []ConnectionStats) []ConnectionStats {
	for i := range s.conns {
		c := &s.conns[i]
		stats := ConnectionStats{
			InFlightPackets: c.inFlight, RTT: c.rtt.SRTT, RTO: c.rto,
			Sent: c.sent, Resent: c.resent, Acked: c.acked, Lost: c.lost,
			Received: c.received, Delivered: c.delivered, Refused: c.outOfWindow,
		}
		if i < s.paired {
			stats.WindowPackets = s.policy.Window(i)
		}
		connections = append(connections, stats)
	}
	return connections
}
