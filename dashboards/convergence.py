"""Convergence: do the windows of a run follow the law, and does what is delivered?"""

from __future__ import annotations

from typing import Any

from dashboards import panels
from dashboards.document import REPORT_URL, add_report_link, annotation, dashboard, to_json
from dashboards.variables import chosen
from testbed.series import named
from testbed.series.influxql import select_dashboard, select_state, select_table
from testbed.series.tables import CHECKS, EVENTS, RUNS

NAME = "convergence"

_OF_CONNECTION = ("run", "session", "connection")
_OF_SESSION = ("run", "session")
_CONNECTION = "$tag_session/$tag_connection"

OPEN_RUN = (
    "/d/ncp-convergence?var-scenario=${__data.fields.scenario}&var-run=${__data.fields.run}"
    "&from=${__data.fields.from_ms.numeric}&to=${__data.fields.to_ms.numeric}"
)
"""This dashboard, at the run and the span that a row of the table of runs names."""

RUN_LINKS = {
    "run": ("Open this run", OPEN_RUN),
    "verdict": (
        "Report of this run",
        REPORT_URL.format(scenario="${__data.fields.scenario}", run="${__data.fields.run}"),
    ),
}


def _plot(name: str, *, function: str = "mean") -> tuple[str, str]:
    """A series of connections and its alias."""
    return select_dashboard(named(name), _OF_CONNECTION, function=function, by=("session",)), _CONNECTION


def _law() -> tuple[str, str]:
    return select_dashboard(named("law_share"), _OF_CONNECTION, by=("session",)), f"law {_CONNECTION}"


def _of_session(name: str) -> tuple[str, str]:
    return select_dashboard(named(name), _OF_SESSION, by=("session",)), "$tag_session"


def build() -> dict[str, Any]:
    """The dashboard's JSON."""
    of = named("sent")
    board = dashboard(
        NAME,
        "NCP: convergence",
        "The windows of one run, live: do they follow the law, and does what is delivered?",
        [
            chosen("scenario", of),
            chosen("policy", of, within=("scenario",)),
            chosen("run", of, within=("scenario", "policy"), several=False, newest_first=True),
            chosen("session", of, within=("run",)),
            chosen("connection", of, within=("run", "session")),
        ],
    )
    add_report_link(board, of)
    for panel in (
        panels.outcome(
            "Verdict", "The judge's verdict on the run.",
            select_state(named("verdict_passed"), [named("verdict_trusted")], ("run",)),
        ),
        panels.number(
            "Checks that failed", "Failed checks of the run, those that could not be judged counted.", "checks",
            select_dashboard(named("verdict_failed"), ("run",), function="last"), red_from=1,
        ),
        panels.number(
            "Largest error against the law", "Share measured − share by the law, of all connections, in the time that "
            "is judged.", "", select_dashboard(named("law_worst_error"), ("run",), function="last"),
        ),
        panels.number(
            "Goodput", "Payload that the receiver got, over the last second.", "bit/s", _of_session("goodput_bps")[0],
        ),
        panels.number(
            "Received", "Payload bytes in order.", "bytes",
            select_dashboard(named("received_bytes"), _OF_SESSION, function="max", by=("session",)),
        ),
        panels.number(
            "Database is behind by", "Age of the newest sample that the database has, during the transfer.", "ms",
            select_dashboard(named("telemetry_lag_ms"), ("run",), function="max"), red_from=5000,
        ),
        panels.lines(
            "Window shares and the law", "Each connection's share of its session's window; dashed the share by the "
            "law, drawn when the run is judged.", "", [_plot("window_share"), _law()], height=10, asked="/^law/",
            most=1,
        ),
        panels.lines(
            "Delivered shares and the law", "Each connection's share of the packets that the receiver got, over the "
            "last second; dashed the share of the window by the law.", "", [_plot("delivered_share"), _law()],
            height=10, asked="/^law/", most=1,
        ),
        panels.lines("Windows", "Packets.", "packets", [_plot("window_packets")]),
        panels.lines("In flight", "Packets sent and not yet acknowledged.", "packets", [_plot("in_flight_packets")]),
        panels.lines("RTT", "With the wait for the acknowledgement.", "ms", [_plot("rtt_ms")]),
        panels.lines("RTO", "When a packet counts as lost.", "ms", [_plot("rto_ms")]),
        panels.lines("Delivery rate", "As the receiver sees it, over the last second.", "packets/s",
                     [_plot("delivered_pps")]),
        panels.lines("Resends", "Packets sent again.", "packets/s", [_plot("resent", function="rate")]),
        panels.lines("Goodput", "Payload that the receiver got.", "bit/s", [_of_session("goodput_bps")]),
        panels.lines("Waiting for earlier data", "At the receiver.", "bytes", [_of_session("reorder_bytes")]),
        panels.rows(
            "Checks", "What was judged.", select_table(CHECKS, ("run",)), height=7, hidden=("Time", "time"),
        ),
        panels.rows(
            "Runs of the last 90 days", "Click on a run to see it at its time, on a verdict for the report.",
            select_table(RUNS, ("scenario", "policy"), newest=200), height=9, links=RUN_LINKS,
            hidden=("from_ms", "to_ms"),
        ).time_from("90d"),
    ):  # fmt: skip
        board.with_panel(panel)
    return to_json(board, [annotation("Timeline", EVENTS, ("run",), "purple")])
