"""The list of runs: one point for each, there from its start, at the time when it was begun.

Dashboards find the latest run in it, and the facts of the chosen run. A run's name does not have its time (that of a
simulated run is made of its plan), so the point's own time orders them.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from testbed import paths
from testbed.judge.status import Status
from testbed.plan.duration import shown_s
from testbed.plan.model import Plan
from testbed.series import influxql
from testbed.series.one_clock import PREFIX, RETENTION
from testbed.series.series import line_protocol, point
from testbed.series.tables import LATEST, MEASUREMENT, dashboards_of
from testbed.services.influx.client import Client

NANOSECONDS = 1_000_000_000

RUNS_KEPT = 60
"""Runs of a scenario that are kept on the common clock."""

_LAST_OF_ALL_NS = 4_102_444_800 * NANOSECONDS  # 2100-01-01T00:00:00Z
"""Time of the entry "latest", so that it comes first in a list with the newest on top."""


def before_the_first() -> list[str]:
    """The list before there is a run: the entry of a run without a name, so that a dashboard's plots have a length
    before the first run."""
    return _lines({}, {"length_s": 10.0}, _LAST_OF_ALL_NS)


def begin(client: Client, plan: Plan, folder: Path, now_ns: int) -> None:
    """Enter a run that begins now and leaves its results in ``folder``. The client's role is ``admin``."""
    latest = _lines({"run": LATEST}, {"run_id": LATEST}, _LAST_OF_ALL_NS)
    client.write([*latest, *_lines(_tags(plan), _facts(plan, folder), now_ns)])


def lengthen(client: Client, plan: Plan, length_s: float) -> None:
    """Note that a run that is on takes longer than was expected."""
    _change(client, plan, {"length_s": float(length_s)})


def finish(client: Client, plan: Plan, state: Status, start_ns: int | None, end_ns: int, summary: str) -> None:
    """Note how a run ended: ``state`` is its verdict, or ``error``; ``start_ns`` is None where nothing was
    ever sent."""
    fields: dict[str, Any] = {"state": state.value, "summary": summary}
    if start_ns is not None:
        fields["length_s"] = max(1.0, (end_ns - start_ns) / NANOSECONDS)
    _change(client, plan, fields)


def _oldest_first(client: Client, runs: Iterable[str]) -> list[str]:
    """The runs in the order in which they were begun; first those that the list has forgotten."""
    found = client.query(f'SELECT "run_id" FROM {influxql.identifier(MEASUREMENT)}')
    order = {run: i for part in found for i, run in enumerate(part.columns["run_id"], start=1)}
    return sorted(runs, key=lambda run: (order.get(run, 0), run))


def store_on_one_clock(client: Client, lines: Iterable[str], scenario: str) -> None:
    """Write a run's lines to the common clock and forget the scenario's oldest runs there, so that the number of series
    does not grow for ever. The client's role is ``admin``."""
    client.write(lines, RETENTION)
    for run in runs_on_one_clock(client, scenario)[:-RUNS_KEPT]:
        client.execute(f"DROP SERIES FROM /^{PREFIX}/ WHERE {influxql.tag_is('run', run)}")


def runs_on_one_clock(client: Client, scenario: str) -> list[str]:
    """The scenario's runs that are on the common clock, oldest first."""
    measurement = f"{influxql.identifier(RETENTION)}.{influxql.identifier(PREFIX + 'event')}"
    where = influxql.tag_is("scenario", scenario)
    found = client.query(f'SHOW TAG VALUES FROM {measurement} WITH KEY = "run" WHERE {where}')
    return _oldest_first(client, [str(run) for part in found for run in part.columns["value"]])


def _change(client: Client, plan: Plan, fields: Mapping[str, Any]) -> None:
    where = influxql.tag_is("run", plan["run"])
    found = client.query(f'SELECT "run_id" FROM {influxql.identifier(MEASUREMENT)} WHERE {where}')
    for part in found:  # a point of the same time and tags is the same point
        client.write(_lines(_tags(plan), fields, part.columns["time"][-1]))


def _tags(plan: Plan) -> dict[str, str]:
    return {
        "run": plan["run"],
        "scenario": plan["scenario"],
        "policy": plan["sessions"][0]["policy"],
        "engine": plan["engine"],
    }


def _facts(plan: Plan, folder: Path) -> dict[str, Any]:
    boards = dashboards_of(plan)
    choices = [plan["run"], *(f"{LATEST}:{board}" for board in boards)]
    full, below = folder.resolve(), paths.results().resolve()
    served = full.relative_to(below).as_posix() if full.is_relative_to(below) else "not-below-the-results"
    return {
        "run_id": plan["run"],
        "board": boards[0],
        # A choice of the variable "run" is looked for between blanks: a run's name, or the latest of a dashboard.
        "choices": f" {' '.join(choices)} ",
        "variant": str(plan.get("variant", "full")),
        "occasion": str(plan.get("occasion", "manual")),
        # As Grafana serves it, which has the results of one checkout, and on this machine.
        "report": f"{served}/report.html",
        "folder": str(full),
        "state": "on",
        "length_s": shown_s(plan),
    }


def _lines(tags: Mapping[str, str], fields: Mapping[str, Any], time_ns: int) -> list[str]:
    return line_protocol([point(MEASUREMENT, tags, fields, time_ns)]).splitlines()
