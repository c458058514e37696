"""The tidy table of a sweep: a row per run, a column per parameter and figure; as CSV and Parquet."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from testbed.errors import BadInput
from testbed.judge.status import current_run
from testbed.study.kinds.sweep_file import Sweep
from testbed.study.result import CellResult

Row = dict[str, Any]

COLUMNS = (
    "goodput_mib_s",
    "of_bound",
    "settled_s",
    "tau_s",
    "law_settled_s",
    "delivered_ratio",
    "rtt_ms",
    "resent_share",
    "duration_s",
)
"""Figures of every run, in the table's order; ``rtt_ms_<connection>`` follow."""


def rows_of(sweep: Sweep, outcomes: Sequence[CellResult]) -> list[Row]:
    """One per run; all have the same keys, None where a run lacks a figure."""
    values = {name: row.values for name, row in sweep.combinations().items()}
    records = [cell.record for cell in outcomes]
    longest = max((record.figures for record in records), key=len)
    further = sorted({name for record in records for name in record.figures} - {*COLUMNS, *longest})
    figures = list(dict.fromkeys([*COLUMNS, *longest, *further])) if longest else []
    return [
        {
            "run": record.run,
            "policy": cell.at["column"],
            "seed": sweep.seed + int(cell.at["repetition"]) - 1,
            **values[cell.at["row"]],
            "state": record.status.value,
            "reason": record.reason,
            **{name: record.figures.get(name) for name in figures},
        }
        for cell, record in zip(outcomes, records, strict=True)
    ]


def write_csv(rows: Sequence[Row], path: Path) -> None:
    """Empty where there is no figure."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def write_parquet(rows: Sequence[Row], path: Path) -> None:
    """Figures as float64, parameters as the sweep's texts, the seed as int64."""
    texts = {"run", "policy", "state", "reason"} | {
        key for row in rows for key, value in row.items() if isinstance(value, (str, list, dict, bool))
    }
    columns = {}
    for key in rows[0]:
        values = [row[key] for row in rows]
        if key in texts:
            columns[key] = pa.array([None if v is None else str(v) for v in values], pa.string())
        else:
            columns[key] = pa.array(values, pa.int64() if key == "seed" else pa.float64())
    pyarrow.parquet.write_table(pa.table(columns), path)


def read_parquet(path: Path) -> list[Row]:
    """The rows of the file; BadInput where it can't be read."""
    try:
        rows: list[Row] = pyarrow.parquet.read_table(path).to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise BadInput("sweep.table-not-readable", f"{path}: can't be read: {error}") from error
    return [current_run(row) for row in rows]


def exact(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Rows of a table, whether from text or from numbers, so that the same ones are equal to the last digit."""
    return [{key: _exact(value) for key, value in current_run(row).items()} for row in rows]


def _exact(value: Any) -> str:
    try:
        return repr(float(value))
    except (TypeError, ValueError):
        return "" if value is None else str(value)
