"""Compare: runs and policies over one time axis from 0."""

from __future__ import annotations

from typing import Any

from dashboards import panels, recent
from dashboards.document import as_long_as_the_run, dashboard, to_json
from dashboards.variables import chosen, run, scenario, span
from testbed.series import named
from testbed.series.influxql import select_dashboard
from testbed.series.one_clock import on_one_clock

NAME = "compare"

_OF_CONNECTION = ("run", "session", "connection")
_OF_SESSION = ("run", "session")
_WHO = "$tag_scenario $tag_policy $tag_run $tag_session"


def _plot(name: str, *, function: str = "mean") -> tuple[str, str]:
    """A series of every chosen run, and its alias."""
    query = select_dashboard(
        on_one_clock(named(name)),
        _OF_CONNECTION,
        function=function,
        by=("scenario", "policy", "run", "session", "connection"),
    )
    return query, f"{_WHO}/$tag_connection"


def _law() -> tuple[str, str]:
    """A panel with all chosen runs, one line over the other."""
    query, alias = _plot("law_ahead")
    return query, f"law {alias}"


def _of_session(name: str) -> tuple[str, str]:
    query = select_dashboard(on_one_clock(named(name)), _OF_SESSION, by=("scenario", "policy", "run", "session"))
    return query, _WHO


def build() -> dict[str, Any]:
    """The dashboard's JSON."""
    of = on_one_clock(named("sent"))
    board = dashboard(
        NAME,
        "NCP: compare",
        "Two or more runs, or policies, on one clock: 00:00:00 is each transfer's start. Choose runs at the top; "
        "without "
        "a choice it is the latest one.",
        [
            scenario(),
            run(several=True),
            *span("run"),
            chosen("session", of, within=("run",)),
            chosen("connection", of, within=("run", "session")),
        ],
    )
    for panel in (
        recent.runs(),
        panels.lines(
            "Window shares",
            "Share of the session's window; dashed what the law asks of it. Runs of one "
            "scenario and policy should lie on each other.",
            "",
            [_law(), _plot("window_share")],
            height=11,
            most=1,
            asked="/^law/",
            by_connection=False,
        ),
        panels.lines(
            "Delivered shares",
            "Share of what the receiver got, over the last second.",
            "",
            [_plot("delivered_share")],
            height=11,
            most=1,
            by_connection=False,
        ),
        panels.lines(
            "Windows",
            "Packets that may be unacknowledged, by connection.",
            "packets",
            [_plot("window_packets")],
            by_connection=False,
        ),
        panels.lines(
            "In flight",
            "Packets sent and not yet acknowledged.",
            "packets",
            [_plot("in_flight_packets")],
            by_connection=False,
        ),
        panels.lines("RTT", "With the wait for the acknowledgement.", "ms", [_plot("rtt_ms")], by_connection=False),
        panels.lines(
            "Delivery rate", "As the receiver sees it.", "packets/s", [_plot("delivered_pps")], by_connection=False
        ),
        panels.lines(
            "Goodput",
            "Payload that the receiver got: the higher, and the sooner at its end, the better.",
            "bit/s",
            [_of_session("goodput_bps")],
            by_connection=False,
        ),
        panels.lines(
            "Resends",
            "Packets sent again. On links without loss there should be none.",
            "packets/s",
            [_plot("resent", function="rate")],
            soft_most=10,
            by_connection=False,
        ),
    ):
        board.with_panel(panel)
    document = to_json(board)
    as_long_as_the_run(document)
    return document
