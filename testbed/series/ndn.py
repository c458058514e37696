"""Series of NDN's nodes: the consumer's window and round trips, and what forwarders' faces hold and mark."""

from __future__ import annotations

from testbed.series.series import Series

SEGMENTS = "segments.csv"
"""The consumer's log, a row per segment in the order of arrival."""


def _of_consumer(name: str, field: str, title: str, unit: str) -> Series:
    return Series(name, "ndn", field, "node", title, unit, (("role", "consumer"),))


def _of_face(name: str, field: str, title: str, unit: str) -> Series:
    """Series of forwarders' faces; a face's name is its node's and its neighbour's: ``h2-h1``."""
    return Series(name, "ndn", field, "face", title, unit, (("role", "forwarder"),))


ALL = (
    _of_consumer("ndn_rtt_ms", "rtt_ms", "RTT", "ms"),
    _of_consumer("ndn_rto_ms", "rto_ms", "RTO", "ms"),
    _of_consumer("ndn_window", "cwnd", "Window", "Interests"),
    _of_consumer("ndn_in_flight", "in_flight", "In flight", "Interests"),
    _of_consumer("ndn_goodput_bps", "goodput_bps", "Goodput", "bit/s"),
    _of_consumer("ndn_marks", "marks", "Data with a mark", "packets"),
    _of_consumer("ndn_window_cuts", "cwnd_cuts", "Cuts of the window", ""),
    _of_consumer("ndn_retransmissions", "retransmissions", "Retransmissions", "Interests"),
    _of_face("ndn_backlog_bytes", "backlog_bytes", "Backlog of the socket", "bytes"),
    _of_face("ndn_backlog_max_bytes", "backlog_max_bytes", "Largest backlog since the last sample", "bytes"),
    _of_face("ndn_queue_packets", "send_queue_packets", "Packets that wait for the socket", "packets"),
    _of_face("ndn_marks_set", "marks_set", "Marks set", "packets"),
    _of_face("ndn_drops", "drops", "Dropped, as the socket was full", "packets"),
)
"""Part of the catalogue."""
