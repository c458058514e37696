"""Links: was the network what was asked, and can the run be trusted?"""

from __future__ import annotations

from typing import Any

from grafana_foundation_sdk.builders.dashboard import CustomVariable, Row
from grafana_foundation_sdk.models.dashboard import VariableOption

from dashboards import panels
from dashboards.document import add_report_link, annotation, dashboard, to_json
from dashboards.variables import chosen
from testbed.series import named
from testbed.series.influxql import select_dashboard, select_table
from testbed.series.tables import CALIBRATION, EVENTS

NAME = "links"

_OF_LINK = ("run", "link", "direction")
_LATENESS_LIMIT_US = 2000
"""The default of a scenario's ``limits.lateness_p99``; a scenario may have set another."""


def _plot(name: str, word: str = "", *, function: str = "mean") -> tuple[str, str]:
    """A series of links, whichever direction is chosen, and its alias."""
    query = select_dashboard(named(name), _OF_LINK, function=function, by=("direction",))
    return query, f"{word} $tag_link $tag_direction".lstrip()


def _of_run(name: str, alias: str) -> tuple[str, str]:
    return select_dashboard(named(name), ("run",)), alias


def build() -> dict[str, Any]:
    """The dashboard's JSON."""
    of = named("any_link_rate_bps")
    direction = CustomVariable("direction").label("direction").values("ab,ba").multi(True).include_all(True)
    direction.all_value(".*").current(VariableOption(True, "ab", "ab"))
    board = dashboard(
        NAME,
        "NCP: links",
        "The emulated links of one run: asked against achieved, queues, drops, lateness, and the host's load.",
        [
            chosen("scenario", of),
            chosen("run", of, within=("scenario",), several=False, newest_first=True),
            chosen("link", of, within=("run",)),
        ],
    )
    board.with_variable(direction)
    add_report_link(board, of)
    of_limit = select_dashboard(named("calibration_of_limit"), ("run",), function="max", by=("direction",))
    for panel in (
        panels.rows(
            "Calibration", "Every link before the run, both directions. of_limit is the larger error in parts of what "
            "the scenario allows: above 1 the run does not start.",
            select_table(CALIBRATION, ("run",)), width=16, hidden=("Time", "time"),
            units={
                "rate_bps": "bps", "rate_bps_asked": "bps", "rate_error": "percentunit", "delay_ms": "ms",
                "delay_ms_asked": "ms", "delay_error_ms": "ms", "loss": "percentunit", "loss_asked": "percentunit",
                "of_limit": "percentunit",
            },
        ),
        panels.lines(
            "Calibration errors", "In parts of what the scenario allows.", "", [(of_limit, "$tag_link $tag_direction")],
            width=panels.THIRD, limit=1,
        ),
        panels.lines(
            "Lateness, 99th percentile", "How late the middle let frames go; the line is the default limit.", "µs",
            [_plot("any_link_lateness_p99_us")], limit=_LATENESS_LIMIT_US,
        ),
        panels.lines(
            "Host", "Shares of all cores: a starved host makes late links.", "",
            [_of_run("host_cpu", "CPU in use"), _of_run("host_steal", "taken by the hypervisor")], most=1,
        ),
    ):  # fmt: skip
        board.with_panel(panel)
    board.with_row(Row("Link $link").repeat("link"))
    for panel in (
        panels.lines("Rate of $link", "What crossed it; dashed what the queues at the hosts are told, and the middle.",
                     "bit/s", [
                         _plot("any_link_achieved_bps"), _plot("shaped_bps", "asked"),
                         _plot("any_link_rate_bps", "asked of the middle"),
                     ], asked="/^asked/"),
        panels.lines("Delay of $link", "One way: configured, and achieved by the middle.", "ms",
                     [_plot("any_link_achieved_delay_ms"), _plot("any_link_delay_ms", "asked")], asked="/^asked/"),
        panels.lines("Loss of $link", "Configured, and achieved in the middle.", "",
                     [_plot("any_link_achieved_loss"), _plot("any_link_loss", "asked")],
                     asked="/^asked/", width=panels.THIRD),
        panels.lines("Waiting in $link", "Backlog in the middle, with delay.", "bytes",
                     [_plot("any_link_backlog_bytes")], width=panels.THIRD),
        panels.lines("Drops of $link", "Frames dropped in the middle, asked losses among them.", "packets/s",
                     [_plot("any_link_drops", function="rate")], width=panels.THIRD),
    ):  # fmt: skip
        board.with_panel(panel)
    return to_json(board, [annotation("Timeline", EVENTS, ("run",), "purple")])
