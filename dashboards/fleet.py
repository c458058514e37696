"""Fleet: every scenario's verdicts and key figures over weeks, of nightly runs and others."""

from __future__ import annotations

from typing import Any

from grafana_foundation_sdk.builders.dashboard import Row

from dashboards import panels
from dashboards.convergence import RUN_LINKS
from dashboards.document import dashboard, to_json
from dashboards.variables import chosen
from testbed.series import kept
from testbed.series.influxql import select_dashboard, select_state, select_table
from testbed.series.tables import RUNS

NAME = "fleet"

_OF_VARIANT = ("scenario", "policy", "engine", "variant")
_BY = ("policy", "engine", "variant")


def build() -> dict[str, Any]:
    """The dashboard's JSON."""
    of = kept.PASSED
    board = dashboard(
        NAME,
        "NCP: fleet",
        "The history of all scenarios: verdicts and key figures, run by run.",
        [
            chosen("scenario", of),
            chosen("policy", of, within=("scenario",)),
            chosen("engine", of, within=("scenario",)),
            chosen("variant", of, within=("scenario",)),
        ],
        time=("now-30d", "now"),
        refresh="5m",
    )
    state = select_state(kept.PASSED, [kept.TRUSTED], _OF_VARIANT, _BY)
    figures = select_dashboard(kept.MEASURED, _OF_VARIANT, by=("scenario", *_BY))
    expected = select_dashboard(kept.EXPECTED, _OF_VARIANT, by=("scenario", *_BY))
    figure = "$tag_figure, $tag_policy $tag_engine $tag_variant"
    for panel in (
        panels.outcomes(
            "Verdicts", "A run colours the time up to the next one.", state,
            "$tag_scenario $tag_policy $tag_engine $tag_variant",
        ),
        panels.lines("Passed in a day", "Of all chosen runs, by day in UTC.", "runs", [
            (select_dashboard(kept.DAILY_PASSED, _OF_VARIANT, function="sum", by=_BY),
             "$tag_scenario $tag_policy $tag_variant"),
            (select_dashboard(kept.DAILY_RUNS, _OF_VARIANT, function="sum", by=_BY),
             "runs $tag_scenario $tag_policy $tag_variant"),
        ], asked="/^runs/"),
        panels.lines("Time of the transfer", "", "s", [
            (select_dashboard(kept.DURATION, _OF_VARIANT, by=_BY), "$tag_scenario $tag_policy $tag_variant"),
        ]),
        panels.rows(
            "Runs", "Click on a run to see it at its time, on a verdict for the report (runs of the last 90 days).",
            select_table(RUNS, ("scenario", "policy"), newest=500), height=9, links=RUN_LINKS,
            hidden=("from_ms", "to_ms"),
        ),
        panels.rows(
            "History", "What became of runs, kept for ever.",
            select_table(kept.VERDICTS, _OF_VARIANT, newest=500), height=9, units={"duration_s": "s"},
        ),
    ):  # fmt: skip
        board.with_panel(panel)
    board.with_row(Row("Figures of $scenario").repeat("scenario"))
    board.with_panel(
        panels.lines(
            "Key figures of $scenario", "What each check measured; dashed what it expects, where that is a number.",
            "checks", [(figures, figure), (expected, f"expected {figure}")], asked="/^expected/", least=None,
        )
    )  # fmt: skip
    board.with_panel(
        panels.lines(
            "Goodput of $scenario", "Payload of all of a session's transfer.", "bit/s",
            [(select_dashboard(kept.GOODPUT, _OF_VARIANT, by=("scenario", *_BY)),
              "$tag_session, $tag_policy $tag_engine $tag_variant")],
        )
    )  # fmt: skip
    return to_json(board)
