"""NDN: a consumer's round trips and window, and the backlog and marks of the forwarders' faces."""

from __future__ import annotations

from typing import Any

from dashboards import panels, recent
from dashboards.convergence import STATE
from dashboards.document import add_report_link, annotation, as_long_as_the_run, dashboard, to_json
from dashboards.variables import RUN, chosen, of_one_run
from testbed.series import named
from testbed.series.influxql import select_dashboard, select_of_run, select_table
from testbed.series.one_clock import on_one_clock
from testbed.series.tables import EVENTS

NAME = "ndn"

_OF_CONSUMER = (RUN, "node")
_OF_FACE = (RUN, "node", "face")


def _consumer(name: str, word: str = "", *, function: str = "mean") -> tuple[str, str]:
    """A series of the consumer and its alias."""
    return select_dashboard(on_one_clock(named(name)), _OF_CONSUMER, function=function), f"{word} $tag_node".lstrip()


def _face(name: str, *, function: str = "max") -> tuple[str, str]:
    """A series of the forwarders' faces and its alias."""
    return select_dashboard(on_one_clock(named(name)), _OF_FACE, function=function), "$tag_face"


def _total(name: str, function: str = "max") -> str:
    """One figure of the consumer over all of the run."""
    return select_of_run(on_one_clock(named(name)), _OF_CONSUMER, function=function)


_NONE = "no NDN in this run"


def build() -> dict[str, Any]:
    """The dashboard's JSON."""
    of = on_one_clock(named("ndn_backlog_bytes"))
    board = dashboard(
        NAME,
        "NCP: NDN",
        "One fetch of an object: the consumer's round trips and window, and what forwarders' sockets hold and mark. "
        "00:00:00 is the transfer's start.",
        [*of_one_run(NAME), chosen("node", of, within=(RUN,)), chosen("face", of, within=(RUN, "node"))],
    )
    add_report_link(board)
    for panel in (
        recent.runs(),
        panels.state(
            "Verdict",
            "Grey while the run is on; green only when all that was asked held.",
            select_table(STATE, (RUN,), newest=1),
        ),
        panels.number("RTT", "Mean of all segments so far.", "ms", _total("ndn_rtt_ms", "mean"), nothing=_NONE),
        panels.number(
            "Mean goodput",
            "Content, over all of the fetch so far.",
            "bit/s",
            _total("ndn_goodput_bps", "mean"),
            nothing=_NONE,
        ),
        panels.number("Marked", "Data packets that came with a mark.", "packets", _total("ndn_marks"), nothing=_NONE),
        panels.number(
            "Retransmissions",
            "Interests sent again. Without loss there should be none.",
            "packets",
            _total("ndn_retransmissions"),
            nothing=_NONE,
        ),
        panels.number(
            "Cuts of the window",
            "How often it was cut, by marks and by losses.",
            "cuts",
            _total("ndn_window_cuts"),
            nothing=_NONE,
        ),
        panels.lines(
            "RTT",
            "Mean of the interval's segments; dashed when an Interest counts as lost.",
            "ms",
            [_consumer("ndn_rtt_ms"), _consumer("ndn_rto_ms", "RTO")],
            asked="/^RTO/",
        ),
        panels.lines(
            "Window",
            "Interests; dashed those in flight.",
            "packets",
            [_consumer("ndn_window"), _consumer("ndn_in_flight", "in flight")],
            asked="/^in flight/",
        ),
        panels.lines(
            "Backlog of the sockets",
            "The largest of each interval, by the forwarder (SIOCOUTQ, and over TCP what waits for the socket).",
            "bytes",
            [_face("ndn_backlog_max_bytes")],
        ),
        panels.lines(
            "Packets that wait for the socket",
            "The forwarder's own queue; over UDP there is none.",
            "packets",
            [_face("ndn_queue_packets")],
            soft_most=1,
        ),
        panels.lines(
            "Marks set",
            "By the forwarders, when a socket holds too much.",
            "packets/s",
            [_face("ndn_marks_set", function="rate")],
            soft_most=10,
        ),
        panels.lines(
            "Marks received",
            "By the consumer, which may cut its window for them.",
            "packets/s",
            [_consumer("ndn_marks", function="rate")],
            soft_most=10,
        ),
        panels.lines(
            "Dropped, as the socket was full",
            "By the forwarders: marks came too late or were ignored.",
            "packets/s",
            [_face("ndn_drops", function="rate")],
            soft_most=10,
        ),
        panels.lines(
            "Retransmissions",
            "Interests sent again, after a loss or a timeout.",
            "packets/s",
            [_consumer("ndn_retransmissions", function="rate")],
            soft_most=10,
        ),
        panels.lines("Goodput", "Content that arrived, over the last second.", "bit/s", [_consumer("ndn_goodput_bps")]),
        panels.lines(
            "Send queues, by the kernel",
            "The same sockets as the collector samples them, from outside.",
            "bytes",
            [
                (
                    select_dashboard(on_one_clock(named("socket_send_queue_bytes")), (RUN,), by=("role",)),
                    "$tag_flow $tag_role",
                )
            ],
        ),
    ):
        board.with_panel(panel)
    document = to_json(board, [annotation("Timeline", EVENTS, (RUN,), "purple")])
    as_long_as_the_run(document)
    return document
