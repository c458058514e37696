"""A series of telemetry, and a table of points."""

from dataclasses import dataclass


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
