"""Links: did the network match its configuration, and can the run be trusted?"""

from __future__ import annotations

from typing import Any

from grafana_foundation_sdk.builders.dashboard import CustomVariable, Row
from grafana_foundation_sdk.models.dashboard import VariableOption

from dashboards import panels, recent
from dashboards.document import add_report_link, annotation, as_long_as_the_run, dashboard, to_json
from dashboards.variables import RUN, chosen, of_one_run
from testbed.series import named
from testbed.series.influxql import select_dashboard, select_table
from testbed.series.one_clock import on_one_clock
from testbed.series.tables import CALIBRATION, EVENTS, LATENESS

NAME = "links"

_OF_LINK = (RUN, "link", "direction")


def _plot(name: str, word: str = "", *, function: str = "mean") -> tuple[str, str]:
    """A series of links, whichever direction is chosen, and its alias."""
    query = select_dashboard(on_one_clock(named(name)), _OF_LINK, function=function, by=("direction",))
    return query, f"{word} $tag_link $tag_direction".lstrip()


def _of_run(name: str, alias: str) -> tuple[str, str]:
    return select_dashboard(on_one_clock(named(name)), (RUN,)), alias


def build() -> dict[str, Any]:
    """The dashboard's JSON."""
    of = on_one_clock(named("any_link_rate_bps"))
    direction = CustomVariable("direction").label("direction").values("ab,ba").multi(True).include_all(True)
    direction.all_value(".*").current(VariableOption(True, "ab", "ab"))
    board = dashboard(
        NAME,
        "NCP: links",
        "The emulated links of one run: asked against achieved, queues, drops, lateness, and the host's load. 00:00:00 "
        "is the transfer's start.",
        [*of_one_run(NAME), chosen("link", of, within=(RUN,))],
    )
    board.with_variable(direction)
    add_report_link(board)
    for panel in (
        recent.runs(),
        panels.rows(
            "Calibration",
            "Every link before the run, both directions: asked, measured, and how far off. The last "
            "column is the larger error in parts of what the scenario allows: above 100% the run does not start.",
            select_table(CALIBRATION, (RUN,)),
            hidden=("Time", "time"),
            height=7,
            units={
                "rate_bps": "bps",
                "rate_bps_asked": "bps",
                "rate_error": "percentunit",
                "delay_ms": "ms",
                "delay_ms_asked": "ms",
                "delay_error_ms": "ms",
                "loss": "percentunit",
                "loss_asked": "percentunit",
                "of_limit": "percentunit",
            },
            widths={
                "direction": 50,
                "rate_bps": 105,
                "rate_bps_asked": 105,
                "rate_error": 105,
                "delay_ms": 95,
                "delay_ms_asked": 105,
                "delay_error_ms": 110,
                "loss": 80,
                "loss_asked": 100,
                "of_limit": 150,
            },
            titles={
                "rate_bps": "rate",
                "rate_bps_asked": "asked rate",
                "rate_error": "rate error",
                "delay_ms": "delay",
                "delay_ms_asked": "asked delay",
                "delay_error_ms": "delay error",
                "loss_asked": "asked loss",
                "of_limit": "of what is allowed",
                "direction": "dir.",
            },
            nothing="The links were not measured: a virtual run has none, and one that has just begun not yet.",
        ),
        panels.rows(
            "Lateness over the whole run",
            "How late the links' middle let frames go, by what the rule of trust "
            "looks at: "
            "99 of 100 frames are earlier than the first figure. Above its limit the run is not trusted.",
            select_table(LATENESS, (RUN,)),
            hidden=("Time", "time"),
            width=panels.HALF,
            height=8,
            widths={"direction": 50, "p99_ms": 90, "p99_limit_ms": 90, "max_ms": 90, "max_limit_ms": 90},
            units={"p99_ms": "ms", "p99_limit_ms": "ms", "max_ms": "ms", "max_limit_ms": "ms"},
            titles={
                "direction": "dir.",
                "p99_ms": "99%",
                "p99_limit_ms": "limit",
                "max_ms": "latest",
                "max_limit_ms": "its limit",
            },
            nothing="Known when the run has ended, and only where the middle is the relay.",
        ),
        panels.lines(
            "Lateness, 99th percentile of each interval",
            "When frames were late. A single high interval does not "
            "make a "
            "run untrusted: its 99th percentile is that of a few frames.",
            "µs",
            [_plot("any_link_lateness_p99_us")],
        ),
        panels.lines(
            "Host",
            "Shares of all cores: a starved host makes late links. What the hypervisor takes should be next to "
            "nothing.",
            "",
            [_of_run("host_cpu", "CPU in use"), _of_run("host_steal", "taken by the hypervisor")],
            most=1,
            width=panels.FULL,
            height=7,
        ),
    ):
        board.with_panel(panel)
    board.with_row(Row("Link $link").repeat("link"))
    for panel in (
        panels.lines(
            "Rate of $link",
            "What crossed it; dashed what the queues at the hosts are told, and the middle. "
            "Above the dashed line the link would be faster than asked.",
            "bit/s",
            [
                _plot("any_link_achieved_bps"),
                _plot("shaped_bps", "asked"),
                _plot("any_link_rate_bps", "asked of the middle"),
            ],
            asked="/^asked/",
        ),
        panels.lines(
            "Delay of $link",
            "One way: configured, and achieved by the middle. They should be on each other.",
            "ms",
            [_plot("any_link_achieved_delay_ms"), _plot("any_link_delay_ms", "asked")],
            asked="/^asked/",
        ),
        panels.lines(
            "Loss of $link",
            "Configured, and achieved in the middle, of each interval's frames. Loss that "
            "nobody asked for makes a run untrusted.",
            "",
            [_plot("any_link_achieved_loss"), _plot("any_link_loss", "asked")],
            asked="/^asked/",
            width=panels.THIRD,
            soft_most=0.01,
        ),
        panels.lines(
            "Waiting in $link",
            "Backlog in the middle: what is on its way, and so its delay times its rate.",
            "bytes",
            [_plot("any_link_backlog_bytes")],
            width=panels.THIRD,
            soft_most=1024,
        ),
        panels.lines(
            "Drops of $link",
            "Frames dropped in the middle, asked losses among them. Without asked loss none.",
            "packets/s",
            [_plot("any_link_drops", function="rate")],
            width=panels.THIRD,
            soft_most=10,
        ),
    ):
        board.with_panel(panel)
    document = to_json(board, [annotation("Timeline", EVENTS, (RUN,), "purple")])
    as_long_as_the_run(document)
    return document
