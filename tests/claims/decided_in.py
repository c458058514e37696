"""In which runs a claim is decided: the plan of each cell, or of the scenario, and what differs from its set-up."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from testbed import paths
from testbed.documents import read_csv
from testbed.plan.model import Plan
from testbed.planning.resolve import Choices, resolve
from testbed.planning.sessions import PolicyFacts
from testbed.scenario import load as scenarios
from testbed.study.checks.table import TableCheck
from testbed.study.kinds import sweep_file as sweeps
from testbed.study.kinds import table_file as tables
from testbed.study.kinds.claims_file import Claim, Claims, Difference, FromColumn, OfRows, RunSpec, Setup
from testbed.study.kinds.table_file import Row, Table
from topologies.link import rate_pps

RUN = "claim-0000"


def wrong_setup(claims: Claims, name: str, policies: PolicyFacts) -> list[str]:
    """What differs from the set-up that a claim names and is not said to; empty where all is as it says."""
    claim = claims.claims[name]
    setup = claims.setups[claim.setup]
    return unnamed(
        [*setup.differs, *claim.differs],
        (
            (place, differing(setup, plan, row, published_row, column))
            for place, row, published_row, column, plan in _cells(
                claim, claims.runs[claim.run], setup.of_rows, policies
            )
        ),
    )


def _cells(
    claim: Claim, run: RunSpec, of_rows: OfRows | None, policies: PolicyFacts
) -> Iterator[tuple[str, str, str, str, Plan]]:
    """Every run that decides: what it is called, its row, the row's published name, its column, its plan."""
    if run.kind == "scenario":
        yield run.run, "", "", "", resolve(scenarios.load(run.run, run.set), policies, Choices(), RUN)
    elif run.kind == "sweep":
        for point, plan in sweeps.planned(sweeps.load(run.run, run.set), policies):
            yield f"{run.run} {point}", "", "", "", plan
    else:
        loaded = tables.load(run.run, run.set)
        check = _check(claim, loaded.table)
        columns = _columns(check)
        for row in loaded.table.rows:
            if row.name not in (check.rows or run.rows or [row.name]):
                continue
            for name, column in tables.columns_of(loaded.table, list(policies)).items():
                if name in columns:
                    scenario = tables.scenario_of(loaded, row, column)
                    plan = resolve(scenario, policies, Choices(), RUN)
                    published = claim.as_published.get(row.name) or _published_row(loaded.table, row, of_rows)
                    yield f"{run.run} {row.name} {name}", row.name, published, name, plan


def _check(claim: Claim, table: Table) -> Any:
    own = claim.table_check("it")
    return own if own is not None else next(check for check in table.checks if check.name == claim.check)


def _columns(check: TableCheck) -> set[str]:
    asked = {getattr(check, "column", None), getattr(check, "over", None), *getattr(check, "columns", ())}
    if getattr(check, "judge", "") == "row_ratio":
        asked -= {getattr(check, "over", None)}
    return {name for name in asked if name}


def _published_row(table: Table, row: Row, of_rows: OfRows | None) -> str:
    for known in table.known:
        if of_rows is not None and known.file == of_rows.file and known.name in row.known_as:
            return row.known_as[known.name]
    return row.name


NOT_THERE = object()
"""No value equals it."""


def _asked(setup: Setup, row: str, published_row: str, column: str) -> dict[str, Any]:
    """Every key with the source's value for a cell; ``NOT_THERE`` where the source has no such row."""
    values = setup.chosen | setup.given | setup.columns.get(column, {})
    if setup.of_rows is not None:
        theirs = _published(setup.of_rows.file, tuple(setup.of_rows.by)).get(published_row)
        given = setup.of_rows.given
        values |= {key: NOT_THERE if theirs is None else _value(of, theirs) for key, of in given.items()}
    return values | setup.rows.get(published_row, {}) | setup.rows.get(row, {})


def _value(of: FromColumn, row: Mapping[str, str]) -> Any:
    """In the plan's unit."""
    text = row[of.column]
    if of.part is not None:
        links = [link.replace("@", ":").split(":") for link in text.split()]
        return [float(link[of.part]) for link in links]
    value = of.map[text] if of.map else float(text) * of.times
    return [value] if of.each else value


def differing(setup: Setup, plan: Plan, row: str = "", published_row: str = "", column: str = "") -> dict[str, str]:
    """The keys whose value in the plan is not the source's, with both in words."""
    found = {}
    by_packets = {"links": [{**link, "rate_pps": rate_pps(link)} for link in plan.get("links", [])]}
    for key, theirs in _asked(setup, row, published_row, column).items():
        ours = value_at({**plan, **by_packets}, key)
        if not _same(ours, theirs):
            shown = "nothing" if theirs is NOT_THERE else repr(theirs)
            found[key] = f"{ours!r}, the source has {shown}"
    return found


def value_at(plan: Any, path: str) -> Any:
    """What stands at a path; of ``*`` a list; None where nothing does. Keys may have dots of their own."""
    if not path:
        return plan
    if isinstance(plan, Mapping):
        for key in sorted(plan, key=len, reverse=True):
            if path == key or path.startswith(f"{key}."):
                return value_at(plan[key], path[len(key) + 1 :])
        return None
    if isinstance(plan, Sequence) and not isinstance(plan, str):
        head, _, rest = path.partition(".")
        if head == "*":
            return [value_at(entry, rest) for entry in plan]
        return value_at(plan[int(head)], rest) if int(head) < len(plan) else None
    return None


def _same(ours: Any, theirs: Any) -> bool:
    """A list and one value are the same where all its entries are."""
    if isinstance(ours, list) and not isinstance(theirs, list):
        return bool(ours) and all(_same(entry, theirs) for entry in ours)
    if isinstance(ours, list):
        return len(ours) == len(theirs) and all(map(_same, ours, theirs))
    if isinstance(ours, (int, float)) and isinstance(theirs, (int, float)) and not isinstance(ours, bool):
        return math.isclose(ours, theirs, rel_tol=1e-5)
    return bool(ours == theirs)


@cache
def _published(file: str, by: tuple[str, ...]) -> dict[str, dict[str, str]]:
    return {"/".join(row[name] for name in by): row for row in read_csv(paths.CHECKOUT / file)}


def unnamed(named: Sequence[Difference], cells: Iterator[tuple[str, dict[str, str]]]) -> list[str]:
    """What differs in a cell and no difference names, and what is named and differs in none; in words."""
    keys = {key for difference in named for key in difference.keys}
    told, wrong = set(), []
    for cell, found in cells:
        told |= keys & set(found)
        wrong += [f"{cell}: {key} is {text}" for key, text in found.items() if key not in keys]
    return wrong + [f"{key} is said to differ, and does not" for key in sorted(keys - told)]
