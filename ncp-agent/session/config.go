// Package session is one end of an NCP session as a state machine: packets and
// the time go in, packets and the next deadline come out. It does no I/O, has
// no clock, no goroutine and no lock, and the same calls give the same result;
// sockets and a simulator can drive it alike.
//
// It is wire-compatible with nknorg/ncp-go and keeps that implementation's
// rules where they shape a transfer: per-packet acknowledgements on the
// connection of arrival, the RTO rule, resends that keep their first
// timestamp, one session-wide resend queue. It differs where those rules are
// plain faults: a lost handshake or close is repeated, a closed session still
// delivers what it has received, hostile numbers are bounded.
package session

import (
	"fmt"
	"time"

	"ncp-testbed/ncp-agent/policy"
)

// MaxConnections bounds the connections of one session.
const MaxConnections = 64

// Config is one end's part of a session. Default returns what upstream uses.
type Config struct {
	ClientIDs      []string // one per connection; both ends pair them by index
	Dial           bool     // this end sends the first handshake
	Policy         string
	InitialWindows []float64 // packets per connection; nil: the policy's own

	WindowBytes  uint32 // send and receive window; the smaller of both ends holds
	MTUBytes     uint32 // most data bytes in a packet; the smaller of both ends holds
	MaxAckRanges int    // ranges acknowledged per connection and AckInterval
	AckRepeats   int    // how often a range is repeated, once per AckInterval; upstream: never

	AckInterval          time.Duration
	TimeoutCheckInterval time.Duration
	FlushInterval        time.Duration // a packet that is not full waits this long for more data
	BytesReadInterval    time.Duration // how often to look whether a report is due
	BytesReadThreshold   time.Duration // how old unreported reading must be
	Linger               time.Duration // how long Close waits for acknowledgements
	InitialRTO, MaxRTO   time.Duration

	Buffers *Buffers // for packets of MTUBytes; nil: the session's own
	Tracer  Tracer   // nil: none
}

// Default returns upstream's configuration for connections with these ids.
func Default(clientIDs ...string) Config {
	return Config{
		ClientIDs: clientIDs, Policy: "nkp24",
		WindowBytes: 4 << 20, MTUBytes: 1024, MaxAckRanges: 32,
		AckInterval: 50 * time.Millisecond, TimeoutCheckInterval: 50 * time.Millisecond,
		FlushInterval: 10 * time.Millisecond, BytesReadInterval: 100 * time.Millisecond,
		BytesReadThreshold: 200 * time.Millisecond, Linger: time.Second,
		InitialRTO: 5 * time.Second, MaxRTO: 10 * time.Second,
	}
}

// Fixed intervals. Upstream sends the handshake once; this implementation
// repeats it.
const (
	handshakeFirstRetry = 200 * time.Millisecond
	handshakeMaxRetry   = 2 * time.Second
	closeRepeats        = 3
	closeInterval       = 100 * time.Millisecond
	fullPoll            = time.Second // a connection without window room looks for resends this often
	maxReportRepeat     = 10 * time.Second
	writeErrorPause     = time.Second // a connection sends no data for this long after a failed write
)

func (c *Config) validate() error {
	if n := len(c.ClientIDs); n < 1 || n > MaxConnections {
		return fmt.Errorf("session: %d connections, want 1 to %d", n, MaxConnections)
	}
	if !policy.Known(c.Policy) {
		return fmt.Errorf("session: no window policy %q", c.Policy)
	}
	if c.WindowBytes == 0 || c.MTUBytes == 0 || c.MTUBytes > c.WindowBytes {
		return fmt.Errorf("session: window %d and MTU %d bytes, want 1 ≤ MTU ≤ window", c.WindowBytes, c.MTUBytes)
	}
	if c.Buffers != nil && c.Buffers.size != int(c.MTUBytes) {
		return fmt.Errorf("session: buffers of %d bytes for an MTU of %d", c.Buffers.size, c.MTUBytes)
	}
	if c.MaxAckRanges < 1 || c.AckRepeats < 0 {
		return fmt.Errorf("session: %d ack ranges, %d repeats, want at least 1 and 0", c.MaxAckRanges, c.AckRepeats)
	}
	for _, d := range []time.Duration{c.AckInterval, c.TimeoutCheckInterval, c.FlushInterval, c.BytesReadInterval, c.InitialRTO, c.MaxRTO} {
		if d <= 0 {
			return fmt.Errorf("session: an interval of %v, want more than 0", d)
		}
	}
	return nil
}

// Positions that a direction may span, so that tiny packets or a tiny MTU
// can't make the bookkeeping outgrow the data.
const (
	minSpan = 1 << 10
	maxSpan = 1 << 18
)

// sendSpan bounds the packets between the first unacknowledged and the last
// written. Twice the window, because what the peer has read no longer counts
// in flow control though its acknowledgement may still be under way; 512 per
// connection leaves room for windows that do not sum to W.
func sendSpan(windowPackets float64, connections int) uint64 {
	return uint64(min(max(2*windowPackets, float64(512*connections), minSpan), maxSpan))
}

// receiveSpan bounds how far beyond the first unread packet one is accepted.
// It is generous, since a peer may send packets that are not full.
func receiveSpan(windowPackets float64) uint64 {
	return uint64(min(max(4*windowPackets, 1<<16), maxSpan))
}
