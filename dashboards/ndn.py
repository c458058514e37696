"""NDN: a consumer's round trips and window, and the backlog and marks of the forwarders' faces."""

from __future__ import annotations

from functools import partial

from dashboards import panels
from dashboards.document import dashboard
from dashboards.panels import VERDICT, lines
from dashboards.source import Curves
from dashboards.variables import RUN, chosen, of_one_run
from testbed.series import named
from testbed.series.influxql import select_of_run
from testbed.series.one_clock import on_one_clock

NAME = "ndn"

_CONSUMER = Curves((RUN, "node"), (), "$tag_node").of
_FACE = Curves((RUN, "node", "face"), (), "$tag_face", "max").of
_SOCKET = Curves((RUN,), ("role",), "$tag_flow $tag_role").of

_FACES = on_one_clock(named("ndn_backlog_bytes"))

_number = partial(panels.number, nothing="no NDN in this run")


def _total(name: str, function: str = "max") -> str:
    """One figure of the consumer over all of the run."""
    return select_of_run(on_one_clock(named(name)), (RUN, "node"), function=function)


PANELS = [
    VERDICT,
    _number("RTT", "Mean of all segments so far.", "ms", _total("ndn_rtt_ms", "mean")),
    _number("Mean goodput", "Content, over all of the fetch so far.", "bit/s", _total("ndn_goodput_bps", "mean")),
    _number("Marked", "Data packets that came with a mark.", "packets", _total("ndn_marks")),
    _number(
        "Retransmissions",
        "Interests sent again. Without loss there should be none.",
        "packets",
        _total("ndn_retransmissions"),
    ),
    _number("Cuts of the window", "How often it was cut, by marks and by losses.", "cuts", _total("ndn_window_cuts")),
    lines(
        "RTT",
        "Mean of the interval's segments; dashed when an Interest counts as lost.",
        _CONSUMER("ndn_rtt_ms"),
        _CONSUMER("ndn_rto_ms", "RTO"),
    ),
    lines(
        "Window", "Interests; dashed those in flight.", _CONSUMER("ndn_window"), _CONSUMER("ndn_in_flight", "in flight")
    ),
    lines(
        "Backlog of the sockets",
        "The largest of each interval, by the forwarder (SIOCOUTQ, and over TCP what waits for the socket).",
        _FACE("ndn_backlog_max_bytes"),
    ),
    lines(
        "Packets that wait for the socket",
        "The forwarder's own queue; over UDP there is none.",
        _FACE("ndn_queue_packets"),
        soft_most=1,
    ),
    lines("Marks set", "By the forwarders, when a socket holds too much.", _FACE("ndn_marks_set", function="rate")),
    lines(
        "Marks received", "By the consumer, which may cut its window for them.", _CONSUMER("ndn_marks", function="rate")
    ),
    lines(
        "Dropped, as the socket was full",
        "By the forwarders: marks came too late or were ignored.",
        _FACE("ndn_drops", function="rate"),
    ),
    lines(
        "Retransmissions",
        "Interests sent again, after a loss or a timeout.",
        _CONSUMER("ndn_retransmissions", function="rate"),
    ),
    lines("Goodput", "Content that arrived, over the last second.", _CONSUMER("ndn_goodput_bps")),
    lines(
        "Send queues, by the kernel",
        "The same sockets as the collector samples them, from outside.",
        _SOCKET("socket_send_queue_bytes"),
    ),
]

DASHBOARD = dashboard(
    NAME,
    "NCP: NDN",
    "One fetch of an object: the consumer's round trips and window, and what forwarders' sockets hold and mark. "
    "00:00:00 is the transfer's start.",
    [*of_one_run(NAME), chosen("node", _FACES, within=(RUN,)), chosen("face", _FACES, within=(RUN, "node"))],
    PANELS,
)
