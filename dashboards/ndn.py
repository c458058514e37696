"""NDN: a consumer's round trips and window, and the backlog and marks of the forwarders' faces."""

from __future__ import annotations

from typing import Any

from dashboards import panels
from dashboards.document import add_report_link, annotation, dashboard, to_json
from dashboards.variables import chosen
from testbed.series import named
from testbed.series.influxql import select_dashboard, select_state
from testbed.series.tables import EVENTS

NAME = "ndn"

_OF_CONSUMER = ("run", "node")
_OF_FACE = ("run", "node", "face")


def _consumer(name: str, word: str = "", *, function: str = "mean") -> tuple[str, str]:
    """A series of the consumer and its alias."""
    return select_dashboard(named(name), _OF_CONSUMER, function=function), f"{word} $tag_node".lstrip()


def _face(name: str, *, function: str = "max") -> tuple[str, str]:
    """A series of the forwarders' faces and its alias."""
    return select_dashboard(named(name), _OF_FACE, function=function), "$tag_face"


def build() -> dict[str, Any]:
    """The dashboard's JSON."""
    of = named("ndn_backlog_bytes")
    board = dashboard(
        NAME,
        "NCP: NDN",
        "One fetch of an object: the consumer's round trips and window, and what forwarders' sockets hold and mark.",
        [
            chosen("scenario", of),
            chosen("run", of, within=("scenario",), several=False, newest_first=True),
            chosen("node", of, within=("run",)),
            chosen("face", of, within=("run", "node")),
        ],
    )
    add_report_link(board, of)
    for panel in (
        panels.outcome(
            "Verdict", "The judge's verdict on the run.",
            select_state(named("verdict_passed"), [named("verdict_trusted")], ("run",)),
        ),
        panels.number("RTT", "Of the last samples.", "ms", _consumer("ndn_rtt_ms")[0]),
        panels.number("Goodput", "Content, over the last second.", "bit/s", _consumer("ndn_goodput_bps")[0]),
        panels.number("Marked", "Data packets that came with a mark.", "packets",
                      _consumer("ndn_marks", function="max")[0]),
        panels.number("Retransmissions", "Interests sent again.", "packets",
                      _consumer("ndn_retransmissions", function="max")[0]),
        panels.number("Cuts of the window", "By marks and by losses.", "",
                      _consumer("ndn_window_cuts", function="max")[0]),
        panels.lines("RTT", "Mean of the interval's segments; dashed when an Interest counts as lost.", "ms",
                     [_consumer("ndn_rtt_ms"), _consumer("ndn_rto_ms", "RTO")], asked="/^RTO/"),
        panels.lines("Window", "Interests; dashed those in flight.", "packets",
                     [_consumer("ndn_window"), _consumer("ndn_in_flight", "in flight")], asked="/^in flight/"),
        panels.lines("Backlog of the sockets", "The largest of each interval, by the forwarder (SIOCOUTQ, and over TCP "
                     "what waits for the socket).", "bytes", [_face("ndn_backlog_max_bytes")]),
        panels.lines("Packets that wait for the socket", "The forwarder's own queue; over UDP there is none.",
                     "packets", [_face("ndn_queue_packets")]),
        panels.lines("Marks set", "By the forwarders.", "packets/s", [_face("ndn_marks_set", function="rate")]),
        panels.lines("Marks received", "By the consumer.", "packets/s", [_consumer("ndn_marks", function="rate")]),
        panels.lines("Dropped, as the socket was full", "By the forwarders.", "packets/s",
                     [_face("ndn_drops", function="rate")]),
        panels.lines("Retransmissions", "Interests sent again.", "packets/s",
                     [_consumer("ndn_retransmissions", function="rate")]),
        panels.lines("Goodput", "Content that arrived, over the last second.", "bit/s", [_consumer("ndn_goodput_bps")]),
        panels.lines("Send queues, by the kernel", "The same sockets as the collector samples them, from outside.",
                     "bytes", [(select_dashboard(named("socket_send_queue_bytes"), ("run",), by=("role",)),
                                "$tag_flow $tag_role")]),
    ):  # fmt: skip
        board.with_panel(panel)
    return to_json(board, [annotation("Timeline", EVENTS, ("run",), "purple")])
