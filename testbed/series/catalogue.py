"""The catalogue of series: the one place that says which measurement, field and tags a name stands for.

Checks, plots, exports and dashboards all take their series from here.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from testbed.message import InvalidValue, unknown
from testbed.series.series import Series

SEGMENTS = "segments.csv"
"""The log of NDN's consumer, a row per segment in the order of arrival."""


def _family(measurement: str, group_by: str, **tags: str) -> Callable[[str, str, str, str], Series]:
    """A maker of series of one measurement, from their name, field, title and unit."""
    return lambda name, field, title, unit: Series(name, measurement, field, group_by, title, unit, tuple(tags.items()))


_of_sender, _of_receiver = (_family("ncp_connection", "connection", role=role) for role in ("sender", "receiver"))
_of_sending, _of_receiving = (_family("ncp_session", "session", role=role) for role in ("sender", "receiver"))
_of_any_link = _family("link", "link")
_of_flow = _family("tcp_info", "flow")
_of_tcp_sender = _family("tcp_info", "flow", role="sender")
_of_socket = _family("socket_queue", "flow")
_of_consumer = _family("ndn", "node", role="consumer")
_of_face = _family("ndn", "face", role="forwarder")
"""Maker of series of forwarders' faces, each named as its node and its neighbour: ``h2-h1``."""

_OF_A_RUN = (("check", ""),)
"""The verdict on a run, not those on its checks."""

_ALL = (
    _of_sender("window_packets", "window_packets", "Window", "packets"),
    _of_sender("window_share", "window_share", "Share of the session's window", ""),
    _of_sender("in_flight_packets", "in_flight_packets", "In flight", "packets"),
    _of_sender("rtt_ms", "rtt_ms", "RTT, with the wait for the ACK", "ms"),
    _of_sender("rto_ms", "rto_ms", "RTO", "ms"),
    # Delivery is what the receiver saw arrive; the sender's view of it is its ACKs.
    _of_receiver("delivered_pps", "delivered_pps", "Delivery rate", "packets/s"),
    _of_receiver("delivered_share", "delivered_share", "Share of what was delivered", ""),
    _of_sender("acknowledged_pps", "delivered_pps", "Acknowledged", "packets/s"),
    _of_sender("acknowledged_share", "delivered_share", "Share of what was acknowledged", ""),
    _of_sender("sent", "sent", "Sent", "packets"),
    _of_sender("resent", "resent", "Resent", "packets"),
    _of_sender("acked", "acked", "Acknowledged", "packets"),
    _of_sender("lost", "lost", "Timed out", "packets"),
    _of_sending("acknowledged_bps", "goodput_bps", "Acknowledged", "bit/s"),
    _of_sending("acknowledged_bytes", "bytes", "Acknowledged", "bytes"),
    _of_receiving("goodput_bps", "goodput_bps", "Goodput", "bit/s"),
    _of_receiving("received_bytes", "bytes", "Received", "bytes"),
    _of_sending("send_window_used", "send_window_used", "Session window in use", "bytes"),
    _of_receiving("reorder_bytes", "reorder_bytes", "Waiting for earlier data", "bytes"),
    # Links in both directions, for dashboards; judges look at one direction at a time.
    _family("interface", "link")("interface_sent_bytes", "sent_bytes", "Sent by the interface", "bytes"),
    _family("qdisc", "link")("interface_queued_bytes", "backlog_bytes", "In the interface's queue", "bytes"),
    _of_any_link("any_link_rate_bps", "rate_bps", "Configured rate", "bit/s"),
    _of_any_link("any_link_achieved_bps", "achieved_bps", "Achieved rate", "bit/s"),
    _of_any_link("any_link_delay_ms", "delay_ms", "Configured one-way delay", "ms"),
    _of_any_link("any_link_achieved_delay_ms", "achieved_delay_ms", "Achieved one-way delay", "ms"),
    _of_any_link("any_link_loss", "loss", "Configured loss", ""),
    _of_any_link("any_link_achieved_loss", "achieved_loss", "Achieved loss", ""),
    _of_any_link("any_link_backlog_bytes", "backlog_bytes", "Backlog", "bytes"),
    _of_any_link("any_link_drops", "drops", "Drops", "packets"),
    _of_any_link("any_link_lateness_p99_us", "lateness_p99_us", "Lateness, 99th percentile", "µs"),
    Series("event_loop_p99_ms", "event_loop", "p99_ms", "role", "Node's event loop late by, 99th percentile", "ms"),
    Series("event_loop_max_ms", "event_loop", "max_ms", "role", "Node's event loop late by, at most", "ms"),
    Series("iperf3_goodput_bps", "iperf3", "goodput_bps", "flow", "Goodput of iperf3", "bit/s"),
    Series("host_cpu", "host", "cpu", "run", "CPU in use", ""),
    Series("host_steal", "host", "steal", "run", "CPU taken by the hypervisor", ""),
    Series("law_share", "law", "expected_share", "connection", "Share by the law", ""),
    Series("law_error", "law", "error", "connection", "Share, measured − law", ""),
    Series("law_ahead", "law_ahead", "expected", "connection", "Share by the law", ""),
    Series("law_lower", "law_ahead", "lower", "connection", "Least share that is allowed", ""),
    Series("law_upper", "law_ahead", "upper", "connection", "Largest share that is allowed", ""),
    Series("ratio_ahead", "ratio_ahead", "expected", "connection", "Ratio of the windows expected", "ratio"),
    Series("ratio_lower", "ratio_ahead", "lower", "connection", "Least ratio that is allowed", "ratio"),
    Series("ratio_upper", "ratio_ahead", "upper", "connection", "Largest ratio that is allowed", "ratio"),
    Series("law_worst", "law_worst", "error", "connection", "Largest error against the law", ""),
    Series("settled_s", "event", "at_s", "session", "Settled after", "s", (("kind", "settled"),)),
    Series("verdict_not_passed", "verdict", "not_passed", "run", "Not passed", "", _OF_A_RUN),
    Series("verdict_broken", "verdict", "broken", "run", "Broke down", "", _OF_A_RUN),
    Series("verdict_failed", "verdict", "failed", "run", "Checks that failed", "checks", _OF_A_RUN),
    Series("check_failed", "verdict", "failed", "check", "Failed", ""),
    Series("calibration_of_limit", "calibration", "of_limit", "link", "Error, in parts of the limit", ""),
    Series("calibration_rate_bps", "calibration", "rate_bps", "link", "Rate measured", "bit/s"),
    Series("calibration_rate_bps_asked", "calibration", "rate_bps_asked", "link", "Rate requested", "bit/s"),
    Series("calibration_delay_ms", "calibration", "delay_ms", "link", "Delay measured", "ms"),
    Series("calibration_delay_ms_asked", "calibration", "delay_ms_asked", "link", "Delay requested", "ms"),
    Series("lateness_p99_ms", "lateness", "p99_ms", "link", "Lateness, 99th percentile of the run", "ms"),
    Series("cell_bound", "table_cell", "bound", "row", "What the links carry at most", ""),
    Series("cell_median", "table_cell", "median", "row", "Median", ""),
    Series("telemetry_lag_ms", "telemetry_lag", "lag_ms", "run", "The database is behind by", "ms"),
    # The kernel's own view of sockets and queues.
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
    _of_tcp_sender("sender_cwnd_packets", "cwnd_packets", "Congestion window", "packets"),
    _of_tcp_sender("sender_ssthresh_packets", "ssthresh_packets", "Slow-start threshold", "packets"),
    _of_tcp_sender("sender_in_flight_packets", "in_flight_packets", "In flight", "packets"),
    _of_tcp_sender("sender_rtt_ms", "rtt_ms", "Smoothed RTT", "ms"),
    _of_tcp_sender("sender_min_rtt_ms", "min_rtt_ms", "Least RTT", "ms"),
    _of_tcp_sender("sender_delivery_bps", "delivery_bps", "Delivery rate, by the sender", "bit/s"),
    _of_tcp_sender("sender_peer_window_bytes", "peer_window_bytes", "Window that the receiver advertises", "bytes"),
    _of_socket("socket_send_queue_bytes", "send_queue_bytes", "Send queue", "bytes"),
    _of_socket("socket_receive_queue_bytes", "receive_queue_bytes", "Receive queue", "bytes"),
    Series("shaped_bps", "qdisc", "rate_bps", "link", "Rate set at a queue", "bit/s"),
    # NDN's consumer, and what forwarders' faces hold and mark.
    _of_consumer("ndn_rtt_ms", "rtt_ms", "RTT", "ms"),
    _of_consumer("ndn_rto_ms", "rto_ms", "RTO", "ms"),
    _of_consumer("ndn_window", "cwnd", "Window", "Interests"),
    _of_consumer("ndn_in_flight", "in_flight", "In flight", "Interests"),
    _of_consumer("ndn_goodput_bps", "goodput_bps", "Goodput", "bit/s"),
    _of_consumer("ndn_marks", "marks", "Data with a mark", "packets"),
    _of_consumer("ndn_window_cuts", "cwnd_cuts", "Cuts of the window", "cuts"),
    _of_consumer("ndn_retransmissions", "retransmissions", "Retransmissions", "Interests"),
    _of_face("ndn_backlog_bytes", "backlog_bytes", "Backlog of the socket", "bytes"),
    _of_face("ndn_backlog_max_bytes", "backlog_max_bytes", "Largest backlog since the last sample", "bytes"),
    _of_face("ndn_queue_packets", "send_queue_packets", "Packets that wait for the socket", "packets"),
    _of_face("ndn_marks_set", "marks_set", "Marks set", "packets"),
    _of_face("ndn_drops", "drops", "Dropped, as the socket was full", "packets"),
)

CATALOGUE: Mapping[str, Series] = MappingProxyType({series.name: series for series in _ALL})


def named(name: str) -> Series:
    """The series of that name; :class:`InvalidValue` tells the closest, or all."""
    try:
        return CATALOGUE[name]
    except KeyError:
        raise InvalidValue.of(unknown("series.not-found", "series", name, CATALOGUE)) from None
