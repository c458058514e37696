"""Judges a sweep again from its table: its two copies against each other, and its checks from the figures."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from testbed.checks.result import Verdict
from testbed.checks.verify import differences, read_verdict
from testbed.errors import BadInput
from testbed.sweep import law
from testbed.sweep.load import load
from testbed.sweep.sweep_run import all_arrived
from testbed.sweep.table import Row


def verify_sweep(folder: Path) -> tuple[Verdict, list[str]]:
    """The recorded verdict, and every difference of its checks from what the table's figures give, in words.

    Raises BadInput where a file is missing or broken.
    """
    recorded = read_verdict(folder)
    rows = _read_parquet(folder / "table.parquet")
    found = list(_copies(_read_csv(folder / "table.csv"), rows))
    checks = [all_arrived({row["run"]: {"state": row["state"]} for row in rows})]
    if asked := load(str(folder / "sweep.yaml")).sweep.law:
        checks.append(law.check(law.fit(rows, asked), asked, len(law.of_the_law(rows, asked))))
    before, again = ([check.model_dump(mode="json") for check in of] for of in (recorded.checks, checks))
    return recorded, [*found, *differences("checks", before, again)]


def _copies(texts: Sequence[Mapping[str, str]], rows: Sequence[Row]) -> Iterator[str]:
    """Where ``table.csv`` differs from ``table.parquet``."""
    if len(texts) != len(rows):
        yield f"table.csv has {len(texts)} rows, table.parquet {len(rows)}"
    for text, row in zip(texts, rows, strict=False):
        for column in {**text, **row}:
            a, b = text.get(column, ""), row.get(column)
            if not _same(a, b):
                yield f"run {row.get('run')}: {column} is {a!r} in table.csv, {b!r} in table.parquet"


def _same(text: str, value: Any) -> bool:
    if isinstance(value, (int, float)):
        try:
            return float(text) == float(value)
        except ValueError:
            return False
    return text == ("" if value is None else str(value))


def _read_parquet(path: Path) -> list[Row]:
    import pyarrow as pa
    import pyarrow.parquet

    try:
        rows: list[Row] = pyarrow.parquet.read_table(path).to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise BadInput(f"{path}: not to be read: {error}") from error
    return rows


def _read_csv(path: Path) -> list[dict[str, str]]:
    try:
        with path.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))
    except (OSError, csv.Error, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: not to be read: {error}") from error
