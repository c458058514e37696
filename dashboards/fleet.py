"""Fleet: every scenario's verdicts and key figures over weeks, of nightly runs and others."""

from __future__ import annotations

from functools import partial

from dashboards import panels
from dashboards.document import dashboard
from dashboards.source import Curve
from dashboards.variables import chosen
from testbed.series import Series, kept
from testbed.series.influxql import select_dashboard, select_table

NAME = "fleet"

_OF_VARIANT = ("scenario", "policy", "engine", "variant")
_BY = ("policy", "engine", "variant")
_VARIANT = "$tag_policy $tag_engine $tag_variant"

_NONE = "No run of these has been judged in this span of time."

# The outcome's code is passed + trusted of the last run of each day.
_OUTCOME = f'last({{}}) + last("{kept.TRUSTED.field}") AS "Value"'

_by_scenario = partial(panels.lines, width=panels.THIRD, height=11, points=True, nothing=_NONE)


def _by_day(series: Series, alias: str, expected: str = "") -> Curve:
    query = select_dashboard(series, _OF_VARIANT, function="sum", every="1d")
    return Curve(query, alias, "runs", expected)


def _by_run(series: Series, alias: str, by: tuple[str, ...] = _BY) -> Curve:
    return Curve(select_dashboard(series, _OF_VARIANT, by=by), alias, series.unit)


PANELS = [
    panels.outcomes(
        "Verdicts",
        "Scenario by day, of the last run of each day (UTC), those that ran last on top: green passed, red failed, "
        "amber is not to be trusted. Choose scenarios or a variant at the top for fewer rows.",
        select_dashboard(kept.PASSED, _OF_VARIANT, function=_OUTCOME, by=_BY, every="1d"),
        _OF_VARIANT,
        height=34,
        nothing=_NONE,
    ),
    panels.lines(
        "Passed in a day",
        "Of all chosen runs of an engine, by day in UTC; dashed how many there were. The two should be one.",
        _by_day(kept.DAILY_PASSED, "$tag_engine"),
        _by_day(kept.DAILY_RUNS, "runs $tag_engine", "runs"),
        width=panels.FULL,
        points=True,
        nothing="Summed up by the hour: nothing yet.",
    ),
    panels.rows(
        "History",
        "What became of runs, kept for ever, the latest first.",
        select_table(kept.VERDICTS, _OF_VARIANT, newest=500, in_span=True),
        height=10,
        titles={"run_id": "run", "duration_s": "transfer"},
        widths={"Time": 170, "scenario": 150, "policy": 100, "engine": 90, "variant": 80, "run_id": 190}
        | {"verdict": 120, "duration_s": 90},
        units={"duration_s": "s"},
        nothing=_NONE,
    ),
    panels.row("Figures of $scenario", "scenario"),
    _by_scenario(
        "Key figures of $scenario",
        "What each check measured, in parts of what it expects (of what it allows, where nothing at all would be "
        "best): those stay below 100%, others near it.",
        _by_run(kept.OF_EXPECTED, f"$tag_figure, {_VARIANT}", ("scenario", *_BY)),
    ),
    _by_scenario(
        "Goodput of $scenario",
        "Payload of all of a session's transfer. It should not fall.",
        _by_run(kept.GOODPUT, f"$tag_session, {_VARIANT}", ("scenario", *_BY)),
    ),
    _by_scenario(
        "Time of the transfer of $scenario",
        "From its start to the last packet. It should stay the same.",
        _by_run(kept.DURATION, _VARIANT),
    ),
]

DASHBOARD = dashboard(
    NAME,
    "NCP: fleet",
    "The history of all scenarios: verdicts and key figures, run by run.",
    [chosen("scenario", kept.PASSED), *(chosen(tag, kept.PASSED, within=("scenario",)) for tag in _BY)],
    PANELS,
    since="now-30d",
    refresh="1m",
)
