package collect

import (
	"math"
	"time"

	"ncp-testbed/internal/netstat"
	"ncp-testbed/internal/telemetry"
)

// infiniteSsthresh is the kernel's TCP_INFINITE_SSTHRESH: there was no loss yet.
const infiniteSsthresh = 0x7fffffff

func addTCPInfo(p *telemetry.Points, t telemetry.Tags, s *netstat.Socket, at time.Time) {
	if s.TCP == nil {
		return
	}
	i := s.TCP
	fields := []telemetry.Field{
		telemetry.Int("cwnd_packets", int(i.Snd_cwnd)),
		telemetry.Int("in_flight_packets", int(i.Unacked)),
		telemetry.Int("lost_packets", int(i.Lost)),
		telemetry.Int("resent", int(i.Total_retrans)),
		telemetry.Int("mss_bytes", int(i.Snd_mss)),
		telemetry.Int("receive_space_bytes", int(i.Rcv_space)),
		telemetry.Int("peer_window_bytes", int(i.Snd_wnd)),
		telemetry.Int("acked_bytes", i.Bytes_acked),
		telemetry.Int("received_bytes", i.Bytes_received),
		telemetry.Float("rtt_ms", measuredMS(i.Rtt)),
		telemetry.Float("rtt_var_ms", measuredMS(i.Rttvar)),
		telemetry.Float("min_rtt_ms", measuredMS(i.Min_rtt)),
		telemetry.Float("rto_ms", float64(i.Rto)/1000),
		telemetry.Float("delivery_bps", 8*float64(i.Delivery_rate)),
		telemetry.Float("pacing_bps", pacingBPS(i.Pacing_rate)),
	}
	if i.Snd_ssthresh != infiniteSsthresh {
		fields = append(fields, telemetry.Int("ssthresh_packets", int(i.Snd_ssthresh)))
	}
	p.Add("tcp_info", t, at, fields...)
}

// measuredMS is a time in milliseconds, none where the kernel has not measured one yet (0, or all ones).
func measuredMS(us uint32) float64 {
	if us == 0 || us == math.MaxUint32 {
		return math.NaN()
	}
	return float64(us) / 1000
}

// pacingBPS is a rate in bit/s, none where the kernel does not pace (all ones).
func pacingBPS(bytesPerS uint64) float64 {
	if bytesPerS == math.MaxUint64 {
		return math.NaN()
	}
	return 8 * float64(bytesPerS)
}
