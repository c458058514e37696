"""In which runs a claim is decided: the plan of each cell, or of the scenario, and what differs from its set-up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from testbed.claims.load import kind_of
from testbed.claims.model import Claim, Claims, RunSpec
from testbed.claims.setups import OfRows, differing, unnamed
from testbed.matrix import load as tables
from testbed.matrix.model import Row, Table, TableCheck
from testbed.plan.model import Plan
from testbed.plan.resolve import Choices, resolve
from testbed.plan.sessions import PolicyFacts
from testbed.scenario import load as scenarios
from testbed.sweep import load as sweeps
from testbed.sweep.sweep_run import planned

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
    kind = kind_of(run)
    if kind == "scenario":
        yield run.run, "", "", "", resolve(scenarios.load(run.run, run.set), policies, Choices(), RUN)
    elif kind == "sweep":
        for point, plan in planned(sweeps.load(run.run, run.set), policies):
            yield f"{run.run} {point}", "", "", "", plan
    else:
        loaded = tables.load(run.run, run.set)
        check = _check(claim, loaded.table)
        columns = _columns(check)
        for row in loaded.table.rows:
            if row.name not in (check.rows or run.rows or [row.name]):
                continue
            for column in tables.contenders(loaded.table, list(policies)):
                if column.name in columns:
                    scenario = tables.scenario_of(loaded, row, column)
                    plan = resolve(scenario, policies, Choices(), RUN)
                    published = claim.as_published.get(row.name) or _published_row(loaded.table, row, of_rows)
                    yield f"{run.run} {row.name} {column.name}", row.name, published, column.name, plan


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
