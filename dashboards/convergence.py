"""Convergence: do the windows of a run follow the law, and does what is delivered?"""

from __future__ import annotations

from typing import Any

from dashboards import panels, recent
from dashboards.document import add_report_link, annotation, as_long_as_the_run, dashboard, to_json
from dashboards.variables import RUN, chosen, of_one_run
from testbed.series import Table, named
from testbed.series.influxql import select_dashboard, select_of_run, select_table
from testbed.series.one_clock import on_one_clock
from testbed.series.run_list import MEASUREMENT
from testbed.series.tables import CHECKS, EVENTS

NAME = "convergence"

_OF_CONNECTION = (RUN, "session", "connection")
_OF_SESSION = (RUN, "session")
_CONNECTION = "$tag_session/$tag_connection"
_RATIO = "mean({}) / (1 - mean({}))"
"""The ratio of a share to all others together; of two connections that of their windows."""

STATE = Table(MEASUREMENT, ("state",))


def _plot(name: str, *, function: str = "mean", word: str = "") -> tuple[str, str]:
    """A series of connections and its alias."""
    series = on_one_clock(named(name))
    query = select_dashboard(series, _OF_CONNECTION, function=function, by=("session",))
    return query, f"{word} {_CONNECTION}".lstrip()


def _band() -> list[tuple[str, str]]:
    """The law's tolerance: drawn first, so beneath."""
    return [
        (select_dashboard(on_one_clock(named(f"law_{edge}")), _OF_CONNECTION), f"{word} $tag_connection")
        for edge, word in (("lower", "low"), ("upper", "high"))
    ]


def _ratios() -> list[tuple[str, str]]:
    """The ratio of the windows over the expected one."""
    asked = [
        (select_dashboard(on_one_clock(named(f"ratio_{edge}")), _OF_SESSION, by=("session",)), alias)
        for edge, alias in (("lower", "low 1"), ("upper", "high 1"), ("ahead", "asked $tag_session"))
    ]
    first = select_dashboard(
        on_one_clock(named("window_share")),
        _OF_SESSION,
        function=_RATIO,
        by=("session",),
        conditions=("\"connection\" = '1'",),
    )
    return [*asked, (first, "$tag_session/1 over the others")]


def _of_session(name: str) -> tuple[str, str]:
    return select_dashboard(on_one_clock(named(name)), _OF_SESSION, by=("session",)), "$tag_session"


def build() -> dict[str, Any]:
    """The dashboard's JSON."""
    of = on_one_clock(named("sent"))
    board = dashboard(
        NAME,
        "NCP: convergence",
        "The windows of one run, live: do they follow the law, and does what is delivered? 00:00:00 is the transfer's "
        "start. Without a choice it is the latest run, whichever that is by now.",
        [*of_one_run(NAME), chosen("session", of, within=(RUN,)), chosen("connection", of, within=(RUN, "session"))],
    )
    add_report_link(board)
    for panel in (
        recent.runs(),
        panels.state(
            "Verdict",
            "Grey while the run is on; green only when all that was asked held.",
            select_table(STATE, (RUN,), newest=1),
        ),
        panels.number(
            "Checks that failed",
            "Failed checks of the run, those that could not be judged counted. Anything but 0 is "
            "explained in the table of checks below.",
            "checks",
            select_of_run(named("verdict_failed"), (RUN,)),
            red_from=1,
            nothing="not judged yet",
        ),
        panels.number(
            "Largest error",
            "Against the law: share of the window, measured − law, of each connection in the time that "
            "is judged. It should be below the check's tolerance, as a rule 3%.",
            "",
            select_of_run(named("law_worst"), _OF_CONNECTION, function="max", by=("session",)),
            alias=_CONNECTION,
            nothing="not judged yet, or no law",
        ),
        panels.number(
            "Settled after",
            "Seconds until the windows were in the ratio of the links' rates and stayed there. "
            "Nothing where they did not.",
            "s",
            select_of_run(on_one_clock(named("settled_s")), _OF_SESSION),
            nothing="not settled, or not asked",
        ),
        panels.number(
            "Mean goodput",
            "Payload that the receiver got, by session, over all of the transfer so far.",
            "bit/s",
            select_of_run(on_one_clock(named("goodput_bps")), _OF_SESSION, function="mean"),
            alias="$tag_session",
            nothing="nothing sent yet",
        ),
        panels.number(
            "Database is behind by",
            "Age of the newest sample that the database has, at most, during the transfer: "
            "what is seen here is that much older. Red beyond 5 s.",
            "ms",
            select_of_run(named("telemetry_lag_ms"), (RUN,), function="max"),
            red_from=5000,
            nothing="virtual, or just begun",
        ),
        panels.lines(
            "Window shares and the law",
            "Each connection's share of its session's window on the band that the law and "
            "its tolerance allow, which is there from the start. A line that leaves its band does not converge as it "
            "must.",
            "",
            [*_band(), _plot("law_ahead", word="law"), _plot("window_share")],
            height=11,
            asked="/^law/",
            most=1,
            bands=True,
        ),
        panels.lines(
            "Delivered shares and the law",
            "Each connection's share of the packets that the receiver got, over the "
            "last second; dashed the share of the window by the law. A busy link delivers its share from the first "
            "second, whatever its window.",
            "",
            [_plot("law_ahead", word="law"), _plot("delivered_share")],
            height=11,
            asked="/^law/",
            most=1,
        ),
        panels.lines(
            "Ratio of the windows",
            "The first connection's window over the others', on the band that is asked for in "
            "the end. The purple mark is where it had settled.",
            "ratio",
            _ratios(),
            asked="/^asked/",
            bands=True,
            height=9,
        ),
        panels.lines(
            "Windows",
            "Packets. Their sum is the session's window, and does not change.",
            "packets",
            [_plot("window_packets")],
            height=9,
        ),
        panels.rows(
            "Checks",
            "What was judged: measured beside what was expected, with its tolerance, and why.",
            select_table(CHECKS, (RUN,)),
            width=panels.FULL,
            height=9,
            hidden=("Time", "time"),
            widths={"check": 240, "status": 110, "measured": 110, "expected": 260, "unit": 150},
            nothing="Not judged: the run is on, or broke down (see its state).",
        ),
        panels.lines(
            "In flight",
            "Packets sent and not yet acknowledged: no more than the window.",
            "packets",
            [_plot("in_flight_packets")],
        ),
        panels.lines(
            "RTT",
            "With the wait for the acknowledgement. Twice the link's delay, the queue and the interval "
            "of acknowledgements.",
            "ms",
            [_plot("rtt_ms")],
        ),
        panels.lines(
            "RTO", "When a packet counts as lost. Below the RTT packets would be sent twice.", "ms", [_plot("rto_ms")]
        ),
        panels.lines(
            "Delivery rate",
            "As the receiver sees it, over the last second. A busy link delivers its rate.",
            "packets/s",
            [_plot("delivered_pps")],
        ),
        panels.lines(
            "Resends",
            "Packets sent again. On links without loss there should be none.",
            "packets/s",
            [_plot("resent", function="rate")],
            soft_most=10,
        ),
        panels.lines(
            "Goodput", "Payload that the receiver got, over the last second.", "bit/s", [_of_session("goodput_bps")]
        ),
        panels.lines(
            "Waiting for earlier data",
            "At the receiver: what came over one link and waits for the other.",
            "bytes",
            [_of_session("reorder_bytes")],
            soft_most=1024,
        ),
    ):
        board.with_panel(panel)
    document = to_json(board, [annotation("Timeline", EVENTS, (RUN,), "purple")])
    as_long_as_the_run(document)
    return document
