"""Claims over tables, judged by what a guest kernel or the simulator measured: each as it is said to come out, and its
rival fails."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from testbed import paths
from testbed.judge.status import Status
from testbed.study.checks.table import SlopeCheck, judge_one
from testbed.study.kinds import table_file
from testbed.study.kinds.claims_file import Claim, Rival, load
from testbed.study.kinds.table import summarise
from testbed.study.kinds.table_result import RowSummary, Spread, read_table, results_of, summaries_of

CLAIMS = load()
GUEST = ("claims-guest-2026-11-23", "initcwnd-variants-guest-2026-11-28")
REFERENCES = {"speed-table": ("claims-virtual-time-2026-11-28",)}
"""The references of tables that the simulator can carry; the others are of a guest."""
MINE = [name for name, claim in CLAIMS.claims.items() if CLAIMS.runs[claim.run].kind == "table"]


def folders(table: str) -> Iterator[Path]:
    """Reference results of a table in virtual time."""
    for reference in REFERENCES.get(table, GUEST):
        for file in (paths.CHECKOUT / "data" / "reference" / reference).rglob("table.json"):
            if read_table(file.parent)["name"] == table:
                yield file.parent


@cache
def measured(table: str) -> tuple[RowSummary, ...]:
    """What all runs of a table came to, with the figures and known values that the table has today."""
    documents = list(map(read_table, folders(table)))
    cells = [cell for document in documents for cell in results_of(document)]
    rows, columns = ({cell.at[axis] for cell in cells} for axis in ("row", "column"))
    bounds = {row.name: row.bounds for document in documents for row in summaries_of(document)}
    return tuple(summarise(table_file.load(table).table, sorted(rows), sorted(columns), bounds, cells))


@cache
def checks_of(table: str) -> dict[str | None, Any]:
    return {check.name: check for check in table_file.load(table).table.checks}


def check_of(claim: Claim) -> Any:
    return claim.table_check("it") or checks_of(CLAIMS.runs[claim.run].run)[claim.check]


def with_rival(check: Any, rival: Rival, rows: Sequence[RowSummary]) -> list[RowSummary]:
    """The rival's cells in place of the claim's; of two rows or columns that are compared, of the first."""
    claimed = [check.row] if hasattr(check, "row") else check.rows or [row.name for row in rows]
    columns = [check.column] if hasattr(check, "column") else check.columns
    by_name = {row.name: row for row in rows}

    def cell(row: RowSummary, column: str, figure: str) -> Spread:
        spread = by_name[rival.row or row.name].cells[figure][rival.column or column]
        if rival.times is None or (isinstance(check, SlopeCheck) and figure == check.x):
            return spread
        return Spread.of([value * rival.times for value in spread.values])

    return [
        replace(row, cells={f: {**of, **{c: cell(row, c, f) for c in columns}} for f, of in row.cells.items()})
        if row.name in claimed
        else row
        for row in rows
    ]


@pytest.mark.parametrize("name", MINE)
def test_a_claim_comes_out_as_it_is_said_to(name: str) -> None:
    claim = CLAIMS.claims[name]
    found = judge_one(check_of(claim), measured(CLAIMS.runs[claim.run].run), [])
    if claim.kind != "measurement":
        assert found.status == (Status.FAIL if claim.xfail else Status.PASS), found.reason


@pytest.mark.parametrize("name", [name for name in MINE if (of := CLAIMS.claims[name].rival) and not of.set])
def test_its_rival_fails(name: str) -> None:
    """But for one that is a run of its own: tests/claims/test_rivals.py makes that."""
    claim = CLAIMS.claims[name]
    assert claim.rival
    check = check_of(claim)
    found = judge_one(check, with_rival(check, claim.rival, measured(CLAIMS.runs[claim.run].run)), [])
    assert found.status == Status.FAIL, found.reason


@pytest.mark.parametrize("name", MINE)
def test_what_is_no_measurement_has_a_bound_with_a_rival_and_what_is_a_sources_its_sentence(name: str) -> None:
    claim = CLAIMS.claims[name]
    assert (claim.bound is None) == (claim.rival is None) == (claim.kind == "measurement")
    assert claim.kind in ("beyond", "measurement") or (claim.quote and claim.place)


def test_a_bound_that_is_too_wide_lets_its_rival_pass() -> None:
    claim = CLAIMS.claims["ndn-hidden-rtt"]
    assert claim.rival
    wide = check_of(claim).model_copy(update={"min": 0.8, "max": 1.25})
    rows = with_rival(wide, claim.rival, measured("ndn-hidden"))
    assert judge_one(wide, rows, []).status == Status.PASS
