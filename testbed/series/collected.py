"""Series of the collectors: the kernel's own view of sockets, queues and interfaces, and the collectors' cost."""

from __future__ import annotations

from testbed.series.series import Series


def _of_flow(name: str, field: str, title: str, unit: str, measurement: str = "tcp_info") -> Series:
    return Series(name, measurement, field, "flow", title, unit)


def _of_sender(name: str, field: str, title: str, unit: str) -> Series:
    return Series(name, "tcp_info", field, "flow", title, unit, (("role", "sender"),))


def _of_interface(name: str, measurement: str, field: str, title: str, unit: str) -> Series:
    return Series(name, measurement, field, "interface", title, unit)


ALL = (
    _of_flow("tcp_cwnd_packets", "cwnd_packets", "Congestion window", "packets"),
    _of_flow("tcp_ssthresh_packets", "ssthresh_packets", "Slow-start threshold", "packets"),
    _of_flow("tcp_in_flight_packets", "in_flight_packets", "In flight", "packets"),
    _of_flow("tcp_rtt_ms", "rtt_ms", "Smoothed RTT", "ms"),
    _of_flow("tcp_min_rtt_ms", "min_rtt_ms", "Least RTT", "ms"),
    _of_flow("tcp_rto_ms", "rto_ms", "RTO", "ms"),
    _of_flow("tcp_delivery_bps", "delivery_bps", "Delivery rate, by the sender", "bit/s"),
    _of_flow("tcp_pacing_bps", "pacing_bps", "Pacing rate", "bit/s"),
    _of_flow("tcp_resent", "resent", "Resent", "packets"),
    _of_flow("tcp_lost_packets", "lost_packets", "Held for lost", "packets"),
    _of_flow("tcp_receive_space_bytes", "receive_space_bytes", "Receive space", "bytes"),
    _of_flow("tcp_peer_window_bytes", "peer_window_bytes", "Window that the peer advertises", "bytes"),
    # Of the end that sends the data: what a run is judged and drawn by.
    _of_sender("sender_cwnd_packets", "cwnd_packets", "Congestion window", "packets"),
    _of_sender("sender_ssthresh_packets", "ssthresh_packets", "Slow-start threshold", "packets"),
    _of_sender("sender_in_flight_packets", "in_flight_packets", "In flight", "packets"),
    _of_sender("sender_rtt_ms", "rtt_ms", "Smoothed RTT", "ms"),
    _of_sender("sender_min_rtt_ms", "min_rtt_ms", "Least RTT", "ms"),
    _of_sender("sender_delivery_bps", "delivery_bps", "Delivery rate, by the sender", "bit/s"),
    _of_sender("sender_peer_window_bytes", "peer_window_bytes", "Window that the receiver advertises", "bytes"),
    _of_flow("socket_send_queue_bytes", "send_queue_bytes", "Send queue", "bytes", "socket_queue"),
    _of_flow("socket_receive_queue_bytes", "receive_queue_bytes", "Receive queue", "bytes", "socket_queue"),
    _of_flow("socket_drops", "drops", "Dropped at the socket", "packets", "socket_queue"),
    _of_interface("qdisc_backlog_bytes", "qdisc", "backlog_bytes", "Backlog", "bytes"),
    Series("shaped_bps", "qdisc", "rate_bps", "link", "Rate that a queue is told", "bit/s"),
    _of_interface("qdisc_drops", "qdisc", "drops", "Drops", "packets"),
    _of_interface("interface_sent_drops", "interface", "sent_drops", "Not sent", "packets"),
    Series("collector_cpu", "collector", "cpu", "collector", "CPU of a collector", ""),
)
"""Part of the catalogue."""
