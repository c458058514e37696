"""Fleet: every scenario's verdicts and key figures over weeks, of nightly runs and others."""

from __future__ import annotations

from typing import Any

from grafana_foundation_sdk.builders.dashboard import Row

from dashboards import panels, recent
from dashboards.document import dashboard, to_json
from dashboards.variables import chosen
from testbed.series import kept
from testbed.series.influxql import select_dashboard, select_table

NAME = "fleet"

_OF_VARIANT = ("scenario", "policy", "engine", "variant")
_BY = ("policy", "engine", "variant")

_NONE = "No run of these has been judged in this span of time."


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
        refresh="1m",
    )
    # Of the last run of each day: passed + trusted is the outcome's code.
    outcome = select_dashboard(
        kept.PASSED, _OF_VARIANT, function=f'last({{}}) + last("{kept.TRUSTED.field}") AS "Value"', by=_BY, every="1d"
    )
    of_expected = select_dashboard(kept.OF_EXPECTED, _OF_VARIANT, by=("scenario", *_BY))
    for panel in (
        recent.runs(),
        panels.outcomes(
            "Verdicts",
            "Scenario by day, of the last run of each day (UTC), those that ran last on top: green passed, red failed, "
            "amber is not to be trusted. Choose scenarios or a variant at the top for fewer rows.",
            outcome,
            _OF_VARIANT,
            height=34,
            nothing=_NONE,
        ),
        panels.lines(
            "Passed in a day",
            "Of all chosen runs of an engine, by day in UTC; dashed how many there were. The two should be one.",
            "runs",
            [
                (select_dashboard(kept.DAILY_PASSED, _OF_VARIANT, function="sum", every="1d"), "$tag_engine"),
                (select_dashboard(kept.DAILY_RUNS, _OF_VARIANT, function="sum", every="1d"), "runs $tag_engine"),
            ],
            asked="/^runs/",
            width=panels.FULL,
            points=True,
            nothing="Summed up by the hour: nothing yet.",
        ),
        panels.rows(
            "History",
            "What became of runs, kept for ever, the latest first.",
            select_table(kept.VERDICTS, _OF_VARIANT, newest=500, in_span=True),
            height=10,
            units={"duration_s": "s"},
            titles={"run_id": "run", "duration_s": "transfer"},
            widths={
                "Time": 170,
                "scenario": 150,
                "policy": 100,
                "engine": 90,
                "variant": 80,
                "run_id": 190,
                "verdict": 120,
                "duration_s": 90,
            },
            nothing=_NONE,
        ),
    ):
        board.with_panel(panel)
    board.with_row(Row("Figures of $scenario").repeat("scenario"))
    board.with_panel(
        panels.lines(
            "Key figures of $scenario",
            "What each check measured, in parts of what it expects (of what it allows, "
            "where "
            "nothing at all would be best): those stay below 100%, others near it.",
            "",
            [(of_expected, "$tag_figure, $tag_policy $tag_engine $tag_variant")],
            width=panels.THIRD,
            height=11,
            points=True,
            nothing=_NONE,
        )
    )
    board.with_panel(
        panels.lines(
            "Goodput of $scenario",
            "Payload of all of a session's transfer. It should not fall.",
            "bit/s",
            [
                (
                    select_dashboard(kept.GOODPUT, _OF_VARIANT, by=("scenario", *_BY)),
                    "$tag_session, $tag_policy $tag_engine $tag_variant",
                )
            ],
            width=panels.THIRD,
            height=11,
            points=True,
            nothing=_NONE,
        )
    )
    board.with_panel(
        panels.lines(
            "Time of the transfer of $scenario",
            "From its start to the last packet. It should stay the same.",
            "s",
            [(select_dashboard(kept.DURATION, _OF_VARIANT, by=_BY), "$tag_policy $tag_engine $tag_variant")],
            width=panels.THIRD,
            height=11,
            points=True,
            nothing=_NONE,
        )
    )
    return to_json(board)
