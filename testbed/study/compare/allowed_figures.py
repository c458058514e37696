"""What two runs, or two tables of runs, differ in, by the figures of their verdicts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from testbed.judge.figures import title_of, unit_of
from testbed.judge.status import Status
from testbed.results.report import words
from testbed.study.compare.allowance import Deviation
from testbed.study.tables.judging import judge_one
from testbed.study.tables.model import Table
from testbed.study.tables.outcome import Outcome, Spread
from testbed.study.tables.report import summaries_of

TOLERANCE = 0.05
"""Of a figure, as a part of the first engine's; of one in percent, as a part of a hundred."""
_DECIDED: tuple[Status, ...] = (Status.PASS, Status.FAIL, Status.ERROR, Status.MISSING, Status.UNTRUSTED)


def compare_figures(place: str, first: Mapping[str, float], second: Mapping[str, float]) -> Iterator[Deviation]:
    """Of one run: the figures of its ``verdict.json``; one that a run has not is as far off as can be."""
    for name in dict.fromkeys([*first, *second]):
        values = [Spread.of([run[name]] if name in run else []) for run in (first, second)]
        yield _deviation(place, name, *values)


def compare_tables(table: Table, first: Mapping[str, Any], second: Mapping[str, Any]) -> list[Deviation]:
    """Of two ``table.json``: the medians of the cells that both have, and what the table's checks say of them."""
    ours, theirs = ({row.name: row for row in summaries_of(document)} for document in (first, second))
    rows = [name for name in ours if name in theirs]
    columns = [name for name in first["columns"] if name in second["columns"]]
    found = []
    for row in rows:
        for column in columns:
            for figure in table.figures:
                both = ours[row].spread(column, figure), theirs[row].spread(column, figure)
                if any(spread.n for spread in both):
                    found.append(_deviation(f"{row} {column}", figure, *both))
    said = [_statuses(table, document, rows, columns) for document in (first, second)]
    return [*found, *(_check(name, status, said[1][name]) for name, status in said[0].items())]


def _deviation(place: str, name: str, first: Spread, second: Spread) -> Deviation:
    unit, a, b = unit_of(name), first.median, second.median
    if a is None or b is None:
        off = math.inf
    elif unit == "%":
        off = abs(b - a) / 100
    else:
        off = 0.0 if a == b else abs(b - a) / abs(a) if a else math.inf
    text = f"{place}: {title_of(name)} {_shown(first)} and {_shown(second)} {unit}".rstrip()
    return Deviation(place, name, a, b, off, TOLERANCE, text)


def _shown(spread: Spread) -> str:
    """With the range, where runs of one engine differ: it says how much a difference of medians does."""
    if spread.median is None or spread.low is None or spread.high is None:
        return "nothing"
    ends = [words.figure(end) for end in (spread.low, spread.high)]
    return words.figure(spread.median) + (f" ({'–'.join(ends)})" if ends[0] != ends[1] else "")


def _statuses(table: Table, document: Mapping[str, Any], rows: list[str], columns: list[str]) -> dict[str, Status]:
    summaries = [summary for summary in summaries_of(document) if summary.name in rows]
    outcomes = [Outcome.from_json(found) for found in document["outcomes"] if found["row"] in rows]
    engine = document["engine"]
    return {check.name: judge_one(check, summaries, columns, outcomes, engine=engine).status for check in table.checks}


def _check(name: str, first: Status, second: Status) -> Deviation:
    """What both decide, they must decide alike; few runs leave open what more decide."""
    differ = first in _DECIDED and second in _DECIDED and first != second
    text = f"“{name}” {words.STATUS[first]} and {words.STATUS[second]}"
    return Deviation(name, "check", None, None, float(differ), 0.0, text)
