"""Convergence: do the windows of a run follow the law, and does what is delivered?"""

from __future__ import annotations

from dashboards.document import dashboard
from dashboards.panels import VERDICT, lines, number, rows_of_run
from dashboards.source import Curve, Curves
from dashboards.variables import RUN, chosen, of_one_run
from testbed.series import named
from testbed.series.influxql import select_dashboard, select_of_run
from testbed.series.one_clock import on_one_clock
from testbed.series.tables import CHECKS

NAME = "convergence"

_OF_CONNECTION = (RUN, "session", "connection")
_OF_SESSION = (RUN, "session")
_CONNECTION = Curves(_OF_CONNECTION, ("session",), "$tag_session/$tag_connection").of
_SESSION = Curves(_OF_SESSION, ("session",), "$tag_session").of
_BAND = Curves(_OF_CONNECTION, (), "$tag_connection").of
_BAND_OF_RATIO = Curves(_OF_SESSION, ("session",), "1").of

_RATIO = Curve(
    select_dashboard(
        on_one_clock(named("window_share")),
        _OF_SESSION,
        function="mean({}) / (1 - mean({}))",
        by=("session",),
        conditions=("\"connection\" = '1'",),
    ),
    "$tag_session/1 over the others",
    "ratio",
)
"""The ratio of the first connection's share to all others together; of two connections that of their windows."""

_CONNECTIONS = on_one_clock(named("sent"))

PANELS = [
    VERDICT,
    number(
        "Checks that failed",
        "Failed checks of the run, those that could not be judged counted. Anything but 0 is "
        "explained in the table of checks below.",
        "checks",
        select_of_run(named("verdict_failed"), (RUN,)),
        red_from=1,
        nothing="not judged yet",
    ),
    number(
        "Largest error",
        "Against the law: share of the window, measured − law, of each connection in the time that "
        "is judged. It should be below the check's tolerance, as a rule 3%.",
        "",
        select_of_run(named("law_worst"), _OF_CONNECTION, function="max", by=("session",)),
        alias="$tag_session/$tag_connection",
        nothing="not judged yet, or no law",
    ),
    number(
        "Settled after",
        "Seconds until the windows were in the ratio of the links' rates and stayed there. Nothing where they did not.",
        "s",
        select_of_run(on_one_clock(named("settled_s")), _OF_SESSION),
        nothing="not settled, or not asked",
    ),
    number(
        "Mean goodput",
        "Payload that the receiver got, by session, over all of the transfer so far.",
        "bit/s",
        select_of_run(on_one_clock(named("goodput_bps")), _OF_SESSION, function="mean"),
        alias="$tag_session",
        nothing="nothing sent yet",
    ),
    number(
        "Database is behind by",
        "Age of the newest sample that the database has, at most, during the transfer: "
        "what is seen here is that much older. Red beyond 5 s.",
        "ms",
        select_of_run(named("telemetry_lag_ms"), (RUN,), function="max"),
        red_from=5000,
        nothing="virtual, or just begun",
    ),
    lines(
        "Window shares and the law",
        "Each connection's share of its session's window on the band that the law and its tolerance allow, which "
        "is there from the start. A line that leaves its band does not converge as it must.",
        _BAND("law_lower", "low"),  # drawn first, so beneath
        _BAND("law_upper", "high"),
        _CONNECTION("law_ahead", "law"),
        _CONNECTION("window_share"),
        height=11,
        most=1,
    ),
    lines(
        "Delivered shares and the law",
        "Each connection's share of the packets that the receiver got, over the last second; dashed the share of "
        "the window by the law. A busy link delivers its share from the first second, whatever its window.",
        _CONNECTION("law_ahead", "law"),
        _CONNECTION("delivered_share"),
        height=11,
        most=1,
    ),
    lines(
        "Ratio of the windows",
        "The first connection's window over the others', on the band that is asked for in the end. The purple "
        "mark is where it had settled.",
        _BAND_OF_RATIO("ratio_lower", "low"),
        _BAND_OF_RATIO("ratio_upper", "high"),
        _SESSION("ratio_ahead", "asked"),
        _RATIO,
        unit="ratio",
        height=9,
    ),
    lines(
        "Windows",
        "Packets. Their sum is the session's window, and does not change.",
        _CONNECTION("window_packets"),
        height=9,
    ),
    rows_of_run(
        "Checks",
        "What was judged: measured beside what was expected, with its tolerance, and why.",
        CHECKS,
        height=9,
        widths={"check": 240, "status": 110, "measured": 110, "expected": 260, "unit": 150},
        nothing="Not judged: the run is on, or broke down (see its state).",
    ),
    lines(
        "In flight", "Packets sent and not yet acknowledged: no more than the window.", _CONNECTION("in_flight_packets")
    ),
    lines(
        "RTT",
        "With the wait for the acknowledgement. Twice the link's delay, the queue and the interval of "
        "acknowledgements.",
        _CONNECTION("rtt_ms"),
    ),
    lines("RTO", "When a packet counts as lost. Below the RTT packets would be sent twice.", _CONNECTION("rto_ms")),
    lines(
        "Delivery rate",
        "As the receiver sees it, over the last second. A busy link delivers its rate.",
        _CONNECTION("delivered_pps"),
    ),
    lines(
        "Resends",
        "Packets sent again. On links without loss there should be none.",
        _CONNECTION("resent", function="rate"),
    ),
    lines("Goodput", "Payload that the receiver got, over the last second.", _SESSION("goodput_bps")),
    lines(
        "Waiting for earlier data",
        "At the receiver: what came over one link and waits for the other.",
        _SESSION("reorder_bytes"),
        soft_most=1024,
    ),
]

DASHBOARD = dashboard(
    NAME,
    "NCP: convergence",
    "The windows of one run, live: do they follow the law, and does what is delivered? 00:00:00 is the transfer's "
    "start. Without a choice it is the latest run, whichever that is by now.",
    [
        *of_one_run(NAME),
        chosen("session", _CONNECTIONS, within=(RUN,)),
        chosen("connection", _CONNECTIONS, within=(RUN, "session")),
    ],
    PANELS,
)
