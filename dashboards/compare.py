"""Compare: runs and policies over one time axis from 0."""

from __future__ import annotations

from typing import Any

from dashboards import panels
from dashboards.document import dashboard, to_json
from dashboards.variables import chosen
from testbed.series.compared import ZERO, compared
from testbed.series.influxql import select_dashboard

NAME = "compare"

_FROM = ZERO.strftime("%Y-%m-%dT%H:%M:%S.000Z")
_TO = ZERO.replace(minute=1).strftime("%Y-%m-%dT%H:%M:%S.000Z")

_VARIABLES = ("scenario", "policy", "run", "session", "connection")


def _plot(name: str, *, function: str = "mean") -> tuple[str, str]:
    """A series of every chosen run, and its alias."""
    query = select_dashboard(
        compared(name), _VARIABLES, function=function, by=("run", "policy", "session", "connection")
    )
    return query, "$tag_policy $tag_run $tag_session/$tag_connection"


def _of_session(name: str) -> tuple[str, str]:
    query = select_dashboard(
        compared(name), [v for v in _VARIABLES if v != "connection"], by=("run", "policy", "session")
    )
    return query, "$tag_policy $tag_run $tag_session"


def build() -> dict[str, Any]:
    """The dashboard's JSON."""
    of = compared("window_share")
    board = dashboard(
        NAME,
        "NCP: compare",
        "Two or more runs, or policies, on one clock: 00:00:00 is each transfer's start.",
        [
            chosen("scenario", of),
            chosen("policy", of, within=("scenario",)),
            chosen("run", of, within=("scenario", "policy"), newest_first=True),
            chosen("session", of, within=("run",)),
            chosen("connection", of, within=("run", "session")),
        ],
        time=(_FROM, _TO),
        refresh="",
        timezone="utc",
    )
    for panel in (
        panels.lines("Window shares", "Share of the session's window.", "", [_plot("window_share")],
                     height=10, most=1),
        panels.lines("Delivered shares", "Share of what the receiver got, over the last second.", "",
                     [_plot("delivered_share")], height=10, most=1),
        panels.lines("Windows", "Packets.", "packets", [_plot("window_packets")]),
        panels.lines("In flight", "Packets sent and not yet acknowledged.", "packets", [_plot("in_flight_packets")]),
        panels.lines("RTT", "With the wait for the acknowledgement.", "ms", [_plot("rtt_ms")]),
        panels.lines("Delivery rate", "As the receiver sees it.", "packets/s", [_plot("delivered_pps")]),
        panels.lines("Goodput", "Payload that the receiver got.", "bit/s", [_of_session("goodput_bps")]),
        panels.lines("Resends", "Packets sent again.", "packets/s", [_plot("resent", function="rate")]),
    ):  # fmt: skip
        board.with_panel(panel)
    return to_json(board)
