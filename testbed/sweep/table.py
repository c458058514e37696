"""The tidy table of a sweep: a row per run, a column per parameter and figure; as CSV and Parquet."""

from __future__ import annotations

import csv
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from testbed.errors import BadInput
from testbed.sweep.execute import Outcome
from testbed.sweep.load import Point

Row = dict[str, Any]


def rows_of(points: Sequence[Point], runs: Sequence[str], outcomes: Mapping[str, Outcome]) -> list[Row]:
    """One per run, in the order of the sweep; all have the same keys, None where a run lacks a figure."""
    rows: list[Row] = []
    for point, run in zip(points, runs, strict=True):
        settings = {"run": run, "policy": point.policy, "seed": point.seed, **point.values}
        rows.append({**settings, **outcomes[run]})
    longest = max(rows, key=len)
    columns = [*longest, *sorted({key for row in rows for key in row} - set(longest))]
    return [{column: row.get(column) for column in columns} for row in rows]


def write_csv(rows: Sequence[Row], path: Path) -> None:
    """Empty where there is no figure."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def write_parquet(rows: Sequence[Row], path: Path) -> None:
    """Figures as float64, parameters as the sweep's texts, the seed as int64."""
    texts = {"run", "policy", "state"} | {
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
    """What was written; BadInput where it can't be read."""
    try:
        rows: list[Row] = pyarrow.parquet.read_table(path).to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise BadInput(f"{path}: can't be read: {error}") from error
    return rows


def spread(rows: Sequence[Row], figure: str) -> tuple[float, float, float] | None:
    """Median, least and largest of a figure; None unless every row has it."""
    values = [row[figure] for row in rows if row.get(figure) is not None]
    if not values or len(values) < len(rows):
        return None
    return float(statistics.median(values)), float(min(values)), float(max(values))


def values_of(rows: Sequence[Row], key: str | None) -> list[Any]:
    """A column's different values in the order that they come in; [None] without a column."""
    if key is None:
        return [None]
    return list({str(row[key]): row[key] for row in rows}.values())


def where(rows: Sequence[Row], settings: Iterable[tuple[str | None, Any]]) -> list[Row]:
    """The rows with these values; a key that is None is none."""
    wanted = [(key, value) for key, value in settings if key is not None]
    return [row for row in rows if all(row[key] == value for key, value in wanted)]
