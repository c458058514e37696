"""Telemetry as Parquet: a file for each measurement, a column for each tag and field."""

from pathlib import Path

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
                    f"{where}: {name} is {types[name].__name__} and {type(value).__name__}; a column has one type",
                )
    if both := set(tags) & types.keys() | {"time"} & {*tags, *types}:
        raise BadInput("export.column-twice", f"{where}: {both.pop()} names two columns")
    text = pa.dictionary(pa.int32(), pa.string())
    fields = [TIME, *(pa.field(name, text, metadata={ROLE: b"tag"}) for name in tags)]
    fields += [pa.field(name, TYPES[types[name]], metadata={ROLE: b"field"}) for name in sorted(types)]
    rows = [{"time": time, **of, **reported} for time, of, reported in points]
    return pa.Table.from_pylist(rows, schema=pa.schema(fields))
