"""A series of telemetry, and points as line protocol."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from influxdb.line_protocol import make_lines

Point: TypeAlias = dict[str, Any]
"""A point: its measurement, tags, fields and time in Unix nanoseconds."""


def point(measurement: str, tags: Mapping[str, str], fields: Mapping[str, Any], time_ns: int) -> Point:
    """A point for :func:`line_protocol`."""
    return {"measurement": measurement, "tags": tags, "fields": fields, "time": time_ns}


def line_protocol(points: Iterable[Point]) -> str:
    """The points in line protocol, a line each; "" for none."""
    given = list(points)
    return str(make_lines({"points": given})) if given else ""


def append_points(spool: Path, points: Iterable[Point]) -> None:
    """Append them to a file of telemetry that is read while it grows, in one write."""
    with spool.open("ab", buffering=0) as file:
        file.write(line_protocol(points).encode())


@dataclass(frozen=True)
class Series:
    """One field of one measurement, restricted to fixed tag values, with one group per value of a tag.

    ``name`` is how scenarios and dashboards call it; ``title`` and ``unit`` are for people. ``retention`` is
    the retention policy that holds it, "" for the database's default.
    """

    name: str
    measurement: str
    field: str
    group_by: str
    title: str
    unit: str
    tags: tuple[tuple[str, str], ...] = ()
    retention: str = ""


@dataclass(frozen=True)
class Table:
    """Points with several columns, for people to read: texts and numbers, tags and fields.

    ``tags`` restricts to fixed values ("" for points without the tag), ``with_tags`` to points that have these
    tags at all.
    """

    measurement: str
    columns: tuple[str, ...]
    tags: tuple[tuple[str, str], ...] = ()
    with_tags: tuple[str, ...] = ()
    retention: str = ""
