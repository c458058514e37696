"""TCP experiments: what the kernel says of its sockets, and iperf3 of its flows."""

from __future__ import annotations

from typing import Any

from dashboards import panels, recent
from dashboards.document import add_report_link, annotation, as_long_as_the_run, dashboard, to_json
from dashboards.variables import RUN, chosen, of_one_run
from testbed.series import named
from testbed.series.influxql import select_dashboard
from testbed.series.one_clock import on_one_clock
from testbed.series.tables import EVENTS

NAME = "tcp"

_OF_SOCKET = (RUN, "flow", "role")
_SOCKET = "$tag_flow $tag_role $tag_socket"


def _plot(name: str, word: str = "", *, function: str = "mean") -> tuple[str, str]:
    query = select_dashboard(on_one_clock(named(name)), _OF_SOCKET, function=function, by=("role", "socket"))
    return query, f"{word} {_SOCKET}".lstrip()


def build() -> dict[str, Any]:
    """The dashboard's JSON."""
    of = on_one_clock(named("tcp_cwnd_packets"))
    iperf3 = select_dashboard(on_one_clock(named("iperf3_goodput_bps")), (RUN,), by=("congestion_control",))
    board = dashboard(
        NAME,
        "NCP: TCP experiments",
        "TCP_INFO and queues of the sockets of one run, and the flows of iperf3. 00:00:00 is the transfer's start.",
        [*of_one_run(NAME), chosen("flow", of, within=(RUN,)), chosen("role", of, within=(RUN,))],
    )
    add_report_link(board)
    for panel in (
        recent.runs(),
        panels.lines(
            "Congestion window",
            "Dashed the slow-start threshold, where it is not infinite.",
            "packets",
            [_plot("tcp_cwnd_packets"), _plot("tcp_ssthresh_packets", "threshold")],
            asked="/^threshold/",
            by_connection=False,
        ),
        panels.lines(
            "In flight",
            "Unacknowledged, as the kernel counts it.",
            "packets",
            [_plot("tcp_in_flight_packets")],
            by_connection=False,
        ),
        panels.lines(
            "RTT",
            "Smoothed; dashed the least.",
            "ms",
            [_plot("tcp_rtt_ms"), _plot("tcp_min_rtt_ms", "least")],
            asked="/^least/",
            by_connection=False,
        ),
        panels.lines(
            "RTO", "When the kernel takes a segment for lost.", "ms", [_plot("tcp_rto_ms")], by_connection=False
        ),
        panels.lines(
            "Windows advertised",
            "By the other end; dashed what the end itself has room for (rcv_space).",
            "bytes",
            [_plot("tcp_peer_window_bytes"), _plot("tcp_receive_space_bytes", "space")],
            asked="/^space/",
            by_connection=False,
        ),
        panels.lines(
            "Delivery rate",
            "By the sender; dashed the rate of pacing.",
            "bit/s",
            [_plot("tcp_delivery_bps"), _plot("tcp_pacing_bps", "pacing")],
            asked="/^pacing/",
            by_connection=False,
        ),
        panels.lines(
            "Goodput of iperf3",
            "As its server receives it, by half seconds.",
            "bit/s",
            [(iperf3, "iperf3-$tag_flow $tag_congestion_control")],
            nothing="No iperf3 ran beside this run.",
            by_connection=False,
        ),
        panels.lines(
            "Resends",
            "Segments sent again. Without loss there should be none.",
            "packets/s",
            [_plot("tcp_resent", function="rate")],
            soft_most=10,
            by_connection=False,
        ),
        panels.lines(
            "Held for lost",
            "Segments that the kernel takes for lost and has not sent again.",
            "packets",
            [_plot("tcp_lost_packets")],
            soft_most=1,
            by_connection=False,
        ),
        panels.lines(
            "Send queues",
            "Bytes in the socket, sent or not, and not yet acknowledged.",
            "bytes",
            [_plot("socket_send_queue_bytes")],
            by_connection=False,
        ),
        panels.lines(
            "Receive queues",
            "Bytes that wait for the application.",
            "bytes",
            [_plot("socket_receive_queue_bytes")],
            by_connection=False,
        ),
    ):
        board.with_panel(panel)
    document = to_json(board, [annotation("Timeline", EVENTS, (RUN,), "purple")])
    as_long_as_the_run(document)
    return document
