"""Telemetry as Parquet: a file for each measurement, a column for each tag and field."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from testbed import confine
from testbed.errors import BadInput
from testbed.series import FromFile
from testbed.series.file import Point

ROLE = b"role"
"""Kind in a column's metadata: ``time``, ``tag`` or ``field``."""
TIME = pa.field("time", pa.timestamp("ns", tz="UTC"), nullable=False, metadata={ROLE: b"time"})
TYPES = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}


def export(folder: Path) -> list[Path]:
    """Write ``traces/telemetry/<measurement>.parquet`` of a result folder; returns the files.

    Raises:
        BadInput: a field that is a number here and a text there, or a tag's name that is a field's as well.
    """
    source = folder / "telemetry.lp"
    target = folder / "traces" / "telemetry"
    target.mkdir(parents=True, exist_ok=True)
    written = []
    for measurement, points in sorted(FromFile(source).points().items()):
        path = confine.inside(target, f"{measurement}.parquet")
        pq.write_table(_table(f"{source}: {measurement}", points), path)
        written.append(path)
    return written


def _table(where: str, points: list[Point]) -> pa.Table:
    tags = sorted({name for _, reported, _ in points for name in reported})
    types: dict[str, type] = {}
    for _, _, reported in points:
        for name, value in reported.items():
            if types.setdefault(name, type(value)) is not type(value):
                raise BadInput(
                    "export.column-types",
                    "{where}: {column} is {first} and {second}; a column has one type",
                    where=where,
                    column=name,
                    first=types[name].__name__,
                    second=type(value).__name__,
                )
    if both := set(tags) & types.keys() | {"time"} & {*tags, *types}:
        raise BadInput("export.column-twice", "{where}: {column} names two columns", where=where, column=both.pop())
    columns: list[Any] = [pa.array([time for time, _, _ in points], TIME.type)]
    fields = [TIME]
    for name in tags:
        text = pa.dictionary(pa.int32(), pa.string())
        columns.append(pa.array([reported.get(name) for _, reported, _ in points], pa.string()).cast(text))
        fields.append(pa.field(name, text, metadata={ROLE: b"tag"}))
    for name in sorted(types):
        columns.append(pa.array([reported.get(name) for _, _, reported in points], TYPES[types[name]]))
        fields.append(pa.field(name, TYPES[types[name]], metadata={ROLE: b"field"}))
    return pa.table(columns, schema=pa.schema(fields))


def read(path: Path) -> list[Point]:
    """The points of a file that :func:`export` wrote, in its order."""
    table = pq.read_table(path)
    names = {role: [f.name for f in table.schema if f.metadata[ROLE] == role] for role in (b"tag", b"field")}
    times = table.column("time").cast(pa.int64()).to_pylist()
    return [
        (
            time,
            {name: row[name] for name in names[b"tag"] if row[name] is not None},
            {name: row[name] for name in names[b"field"] if row[name] is not None},
        )
        for time, row in zip(times, table.drop_columns(["time"]).to_pylist(), strict=True)
    ]
