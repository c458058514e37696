"""Results of a table's cells, as its checks see them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from testbed.judge.status import Status
from testbed.study.kinds.table_result import Place
from testbed.study.record import CellResult, RunRecord


def cell_result(
    row: str,
    column: str,
    repetition: int,
    status: Any,
    figures: Mapping[str, float],
    seconds: float | None,
    why: str,
    run: str,
    attempts: int = 1,
    checks: Mapping[str, dict[str, Any]] | None = None,
    *,
    exact: bool = False,
    host: str = "",
) -> CellResult:
    """One that has been run, or could not be."""
    place = Place(row, column, repetition)
    record = RunRecord(
        run=run,
        status=Status(status),
        figures=dict(figures),
        seconds=seconds,
        reason=why,
        checks=dict(checks or {}),
        exact=exact,
        host=host,
    )
    return CellResult(place.cell, place.at, attempts, record)


def changed(cell: CellResult, **of_its_run: Any) -> CellResult:
    """The same with another record."""
    return replace(cell, record=cell.record.model_copy(update=of_its_run))
