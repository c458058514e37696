"""Compare: runs and policies over one time axis from 0."""

from __future__ import annotations

from functools import partial

from dashboards import panels
from dashboards.document import dashboard
from dashboards.source import Curves
from dashboards.variables import chosen, run, scenario, span
from testbed.series import named
from testbed.series.one_clock import on_one_clock

NAME = "compare"

_BY = ("scenario", "policy", "run", "session")
_SESSION = Curves(("run", "session"), _BY, "$tag_scenario $tag_policy $tag_run $tag_session").of
_CONNECTION = Curves(
    ("run", "session", "connection"),
    (*_BY, "connection"),
    "$tag_scenario $tag_policy $tag_run $tag_session/$tag_connection",
).of

_CONNECTIONS = on_one_clock(named("sent"))

_plot = partial(panels.lines, by_connection=False)

PANELS = [
    _plot(
        "Window shares",
        "Share of the session's window; dashed what the law asks of it. Runs of one "
        "scenario and policy should lie on each other.",
        _CONNECTION("law_ahead", "law"),
        _CONNECTION("window_share"),
        height=11,
        most=1,
    ),
    _plot(
        "Delivered shares",
        "Share of what the receiver got, over the last second.",
        _CONNECTION("delivered_share"),
        height=11,
        most=1,
    ),
    _plot("Windows", "Packets that may be unacknowledged, by connection.", _CONNECTION("window_packets")),
    _plot("In flight", "Packets sent and not yet acknowledged.", _CONNECTION("in_flight_packets")),
    _plot("RTT", "With the wait for the acknowledgement.", _CONNECTION("rtt_ms")),
    _plot("Delivery rate", "As the receiver sees it.", _CONNECTION("delivered_pps")),
    _plot(
        "Goodput",
        "Payload that the receiver got: the higher, and the sooner at its end, the better.",
        _SESSION("goodput_bps"),
    ),
    _plot(
        "Resends",
        "Packets sent again. On links without loss there should be none.",
        _CONNECTION("resent", function="rate"),
    ),
]

DASHBOARD = dashboard(
    NAME,
    "NCP: compare",
    "Two or more runs, or policies, on one clock: 00:00:00 is each transfer's start. Choose runs at the top; without "
    "a choice it is the latest one.",
    [
        scenario(),
        run(several=True),
        *span("run"),
        chosen("session", _CONNECTIONS, within=("run",)),
        chosen("connection", _CONNECTIONS, within=("run", "session")),
    ],
    PANELS,
)
