"""TCP experiments: what the kernel says of its sockets, and iperf3 of its flows."""

from __future__ import annotations

from functools import partial

from dashboards import panels
from dashboards.document import dashboard
from dashboards.source import Curves
from dashboards.variables import RUN, chosen, of_one_run
from testbed.series import named
from testbed.series.one_clock import on_one_clock

NAME = "tcp"

_SOCKET = Curves((RUN, "flow", "role"), ("role", "socket"), "$tag_flow $tag_role $tag_socket").of
_IPERF3 = Curves((RUN,), ("congestion_control",), "iperf3-$tag_flow $tag_congestion_control").of

_FLOWS = on_one_clock(named("tcp_cwnd_packets"))

_plot = partial(panels.lines, by_connection=False)

PANELS = [
    _plot(
        "Congestion window",
        "Dashed the slow-start threshold, where it is not infinite.",
        _SOCKET("tcp_cwnd_packets"),
        _SOCKET("tcp_ssthresh_packets", "threshold"),
    ),
    _plot("In flight", "Unacknowledged, as the kernel counts it.", _SOCKET("tcp_in_flight_packets")),
    _plot("RTT", "Smoothed; dashed the least.", _SOCKET("tcp_rtt_ms"), _SOCKET("tcp_min_rtt_ms", "least")),
    _plot("RTO", "When the kernel takes a segment for lost.", _SOCKET("tcp_rto_ms")),
    _plot(
        "Windows advertised",
        "By the other end; dashed what the end itself has room for (rcv_space).",
        _SOCKET("tcp_peer_window_bytes"),
        _SOCKET("tcp_receive_space_bytes", "space"),
    ),
    _plot(
        "Delivery rate",
        "By the sender; dashed the rate of pacing.",
        _SOCKET("tcp_delivery_bps"),
        _SOCKET("tcp_pacing_bps", "pacing"),
    ),
    _plot(
        "Goodput of iperf3",
        "As its server receives it, by half seconds.",
        _IPERF3("iperf3_goodput_bps"),
        nothing="No iperf3 ran beside this run.",
    ),
    _plot("Resends", "Segments sent again. Without loss there should be none.", _SOCKET("tcp_resent", function="rate")),
    _plot(
        "Held for lost",
        "Segments that the kernel takes for lost and has not sent again.",
        _SOCKET("tcp_lost_packets"),
        soft_most=1,
    ),
    _plot(
        "Send queues", "Bytes in the socket, sent or not, and not yet acknowledged.", _SOCKET("socket_send_queue_bytes")
    ),
    _plot("Receive queues", "Bytes that wait for the application.", _SOCKET("socket_receive_queue_bytes")),
]

DASHBOARD = dashboard(
    NAME,
    "NCP: TCP experiments",
    "TCP_INFO and queues of the sockets of one run, and the flows of iperf3. 00:00:00 is the transfer's start.",
    [*of_one_run(NAME), chosen("flow", _FLOWS, within=(RUN,)), chosen("role", _FLOWS, within=(RUN,))],
    PANELS,
)
