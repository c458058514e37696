"""A finished table in the database, for its dashboard."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from testbed.judge.figures import with_unit
from testbed.plan.model import Variant
from testbed.points import line_protocol
from testbed.services.influx.client import Client, QueryFailed
from testbed.services.influx.endpoint import Endpoint
from testbed.study.kinds.table_result import summaries_of


def store(endpoint: Endpoint, document: Mapping[str, Any], variant: Variant, at_ns: int) -> None:
    """Write the points of ``table.json``; where the database is away, the file has them all."""
    with suppress(QueryFailed), Client(endpoint, "admin") as writer:
        writer.write(table_lines(document, variant, at_ns))


def table_lines(document: Mapping[str, Any], variant: Variant, at_ns: int) -> list[str]:
    """Points of the measurement ``table_cell`` (tags run, scenario: the table's name, engine, variant, row, column,
    figure; fields median, lowest, highest, bound, in the figure's unit, n, title, and position: the row's place in the
    table from 1) at ``at_ns`` (Unix nanoseconds).

    Each row is a nanosecond later than the one before, for the database keeps points by time. The title is the figure
    with its unit in words. What others measured is in columns named ``<who>: <column>``, with
    n 0. Cells without a value have no point.
    """
    tags = {"run": document["run"], "scenario": document["name"], "engine": document["engine"], "variant": variant}
    points = []
    for position, row in enumerate(summaries_of(document), start=1):
        for figure, spreads in row.cells.items():
            bound = {"bound": row.bounds[figure]} if figure in row.bounds else {}
            cells: list[tuple[str, dict[str, Any]]] = [
                (column, {"median": of.median, "lowest": of.low, "highest": of.high, "n": of.n})
                for column, of in spreads.items()
                if of.n
            ]
            cells += [(f"{k.by}: {k.column}", {"median": k.value, "n": 0}) for k in row.known if k.figure == figure]
            for column, fields in cells:
                at = {**tags, "row": row.name, "column": column, "figure": figure}
                values = fields | {"position": position, "title": with_unit(figure)} | bound
                points.append({"measurement": "table_cell", "tags": at, "fields": values, "time": at_ns + position})
    return line_protocol(points).splitlines()
