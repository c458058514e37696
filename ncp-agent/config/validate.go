package config

import (
	"fmt"
	"strconv"
	"strings"

	"ncp-testbed/ncp-agent/metrics"
	"ncp-testbed/ncp-agent/policy"
	"ncp-testbed/ncp-agent/session"
)

// Bounds of what an agent takes.
const (
	maxMTUBytes    = 60000 // a packet must fit a UDP datagram
	maxWindowBytes = 1 << 30
	maxStartS      = 1e6
)

// validate checks the session; the error begins with the field's name.
func (s *Session) validate() error {
	for _, f := range []struct {
		name             string
		value, low, high float64
	}{
		{"start_s", s.StartS, 0, maxStartS},
		{"transfer_bytes", float64(s.TransferBytes), 1, 1 << 50},
		{"mtu_bytes", float64(s.MTUBytes), 1, maxMTUBytes},
		{"send_window_bytes", float64(s.SendWindowBytes), float64(s.MTUBytes), maxWindowBytes},
		{"ack_interval_ms", s.AckIntervalMS, 0.1, 60000},
		{"max_ack_ranges", float64(s.MaxAckRanges), 1, 1 << 16},
		{"ack_repeats", float64(s.AckRepeats), 0, 100},
		{"timeout_check_ms", s.TimeoutCheckMS, 0.1, 60000},
		{"linger_ms", s.LingerMS, 0, 600000},
	} {
		if f.value < f.low || f.value > f.high {
			return fmt.Errorf("%s: %s, want %s to %s", f.name, plain(f.value), plain(f.low), plain(f.high))
		}
	}
	if !policy.Known(s.rule()) {
		return fmt.Errorf("policy: %q, want one of %s", s.Policy, strings.Join(policy.Names(), ", "))
	}
	if s.Transport != UDP && s.Transport != TCP {
		return fmt.Errorf("transport: %q, want %s or %s", s.Transport, UDP, TCP)
	}
	if err := s.validateOffers(); err != nil {
		return err
	}
	return s.validateConnections()
}

// validateOffers checks that what an end offers in place of what is agreed is no less.
func (s *Session) validateOffers() error {
	for _, role := range []string{metrics.Sender, metrics.Receiver} {
		offer, ok := s.Offers[role]
		if !ok {
			continue
		}
		if offer.MTUBytes < s.MTUBytes || offer.MTUBytes > maxMTUBytes {
			return fmt.Errorf("offers.%s.mtu_bytes: %d, want %d to %d", role, offer.MTUBytes, s.MTUBytes, maxMTUBytes)
		}
		if offer.SendWindowBytes < s.SendWindowBytes || offer.SendWindowBytes > maxWindowBytes {
			return fmt.Errorf("offers.%s.send_window_bytes: %d, want %d to %d", role, offer.SendWindowBytes, s.SendWindowBytes, maxWindowBytes)
		}
	}
	return nil
}

func (s *Session) validateConnections() error {
	n := len(s.Connections)
	if n < 1 || n > session.MaxConnections {
		return fmt.Errorf("connections: %d of them, want 1 to %d", n, session.MaxConnections)
	}
	if s.InitialWindows != nil && len(s.InitialWindows) != n {
		return fmt.Errorf("initial_windows: %d of them, want one for each of the %d connections", len(s.InitialWindows), n)
	}
	for i, w := range s.InitialWindows {
		if !(w >= policy.MinWindow && w <= maxWindowBytes) {
			return fmt.Errorf("initial_windows[%d]: %v packets, want at least %d", i, w, policy.MinWindow)
		}
	}
	for i, c := range s.Connections {
		at := fmt.Sprintf("connections[%d].", i)
		if c.Index != i+1 {
			return fmt.Errorf("%sindex: %d, want %d", at, c.Index, i+1)
		}
		if c.SendBufferPackets < 0 {
			return fmt.Errorf("%ssend_buffer_packets: %d, want 1 or more, or 0 for the kernel's default", at, c.SendBufferPackets)
		}
		if !c.Sender.IsValid() || c.Sender.Port() == 0 {
			return fmt.Errorf("%ssender: %q, want an address and a port like 198.18.1.1:30001", at, c.Sender)
		}
		if !c.Receiver.IsValid() || c.Receiver.Port() == 0 || c.Receiver.Addr().Is4() != c.Sender.Addr().Is4() {
			return fmt.Errorf("%sreceiver: %q, want an address and a port of the sender's family, like 198.18.1.2:30001", at, c.Receiver)
		}
	}
	return nil
}

// plain writes a number without an exponent.
func plain(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
