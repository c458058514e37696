"""The list of runs: one point for each, there from its start, at the time when it was begun.

Dashboards find the latest run in it, and the facts of the chosen run. A run's name does not have its time (that of a
simulated run is made of its plan), so the point's own time orders them.
"""

import datetime
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from testbed import paths
from testbed.judge.status import Status
from testbed.plan.duration import shown_s
from testbed.plan.model import Plan
from testbed.points import line_protocol, point
from testbed.series import influxql
from testbed.series.tables import LATEST, MEASUREMENT, dashboards_of
from testbed.services.influx.client import Client

NANOSECONDS = 1_000_000_000

SILENT_S = 900.0
"""The time that a run which is on may take beyond the length that it said last, its network's and links' included."""

_LIST = influxql.identifier(MEASUREMENT)

_LAST_OF_ALL_NS = 4_102_444_800 * NANOSECONDS  # 2100-01-01T00:00:00Z
"""Time of the entry "latest", so that it comes first in a list with the newest on top."""


def before_the_first() -> list[str]:
    """The list before there is a run: the entry of a run without a name, so that a dashboard's plots have a length
    before the first run, and the one that stands for the latest."""
    latest = _lines({"run": LATEST}, {"run_id": LATEST, "label": f"{LATEST} | {LATEST}"}, _LAST_OF_ALL_NS)
    return [*_lines({}, {"length_s": 10.0}, _LAST_OF_ALL_NS), *latest]


def begin(client: Client, plan: Plan, folder: Path, now_ns: int, state: Status | None = None) -> None:
    """Enter a run that begins now and leaves its results in ``folder``. The client's role is ``admin``."""
    begun = datetime.datetime.fromtimestamp(now_ns // NANOSECONDS, datetime.timezone.utc)
    facts, tags = _facts(plan, folder, state), _tags(plan)
    words = f"{begun:%Y-%m-%d %H:%M:%S} {tags['scenario']} {tags['policy']}, {tags['engine']} {facts['variant']}"
    client.write(_lines(tags, {**facts, "label": f"{words} | {tags['run']}"}, now_ns))


def lengthen(client: Client, plan: Plan, length_s: float) -> None:
    """Note that a run that is on takes longer than was expected."""
    _change(client, plan["run"], {"length_s": float(length_s)})


def finish(client: Client, plan: Plan, state: Status, start_ns: int | None, end_ns: int, summary: str) -> None:
    """Note how a run ended: ``state`` is its verdict, or ``error``; ``start_ns`` is None where nothing was
    ever sent."""
    fields: dict[str, Any] = {"state": state.value, "summary": summary}
    if start_ns is not None:
        fields["length_s"] = max(1.0, (end_ns - start_ns) / NANOSECONDS)
    _change(client, plan["run"], fields)


def killed(client: Client, alive: Collection[str], now_ns: int) -> list[str]:
    """Runs that are on by the list and were killed. ``alive`` names runs of this machine that are on; one whose results
    are elsewhere was killed when it is on for much longer than it said last."""
    found = []
    for part in client.query(f'SELECT "length_s", "folder" FROM {_LIST} WHERE "state" = \'on\' GROUP BY "run"'):
        begun_ns, length_s, folder = (column[-1] for column in part.columns.values())
        late = now_ns - begun_ns > (length_s + SILENT_S) * NANOSECONDS
        if part.tags["run"] not in alive and (late or Path(folder).exists()):
            found.append(part.tags["run"])
    return found


def tidy(client: Client, alive: Collection[str], now_ns: int) -> list[str]:
    """End the killed runs as ``error`` and return them; and forget the points of runs that are not listed any more, so
    that the number of series does not grow for ever. The client's role is ``admin``."""
    client.execute("DROP SERIES FROM /^t0_/")  # the second writing of earlier versions
    listed = {run for part in client.query(f'SELECT "run_id" FROM {_LIST}') for run in part.columns["run_id"]}
    for part in client.query('SHOW TAG VALUES FROM "event" WITH KEY = "run"'):
        for run in sorted(set(part.columns["value"]) - listed):
            where = influxql.tag_is("run", run)
            if not client.query(f'SELECT * FROM "event" WHERE {where} LIMIT 1'):  # the points as they were sampled
                client.delete_run(run)
    ended = killed(client, alive, now_ns)
    for run in ended:
        _change(client, run, {"state": Status.ERROR.value, "summary": "It was killed before it was judged."})
    return ended


def _change(client: Client, run: str, fields: Mapping[str, Any]) -> None:
    where = influxql.tag_is("run", run)
    for part in client.query(f'SELECT "run_id" FROM {_LIST} WHERE {where} GROUP BY *'):
        # a point of the same time and tags is the same point
        client.write(_lines(part.tags, fields, part.columns["time"][-1]))


def _tags(plan: Plan) -> dict[str, str]:
    return {
        "run": plan["run"],
        "scenario": plan["scenario"],
        "policy": plan["sessions"][0]["policy"],
        "engine": plan["engine"],
    }


def _facts(plan: Plan, folder: Path, state: Status | None) -> dict[str, Any]:
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
        "state": state.value if state else "on",
        "length_s": shown_s(plan),
    }


def _lines(tags: Mapping[str, str], fields: Mapping[str, Any], time_ns: int) -> list[str]:
    return line_protocol([point(MEASUREMENT, tags, fields, time_ns)]).splitlines()
