"""A table's figures: medians, bounds and known values by row and column, as ``table.json`` and ``table.csv``."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from testbed import confine, paths
from testbed.documents import read_csv
from testbed.errors import BadInput
from testbed.judge.status import Status
from testbed.study.tables.model import Known, Row, Table
from testbed.study.tables.outcome import Outcome, Spread, observations


@dataclass(frozen=True)
class KnownValue:
    """What somebody else measured, in the figure's unit."""

    by: str
    column: str
    value: float
    figure: str


@dataclass(frozen=True)
class RowSummary:
    """One row: what its links can carry, medians by column, and what is known elsewhere."""

    name: str
    label: str
    title: str
    bounds: Mapping[str, float]
    """By figure, of those that have one."""
    cells: Mapping[str, Mapping[str, Spread]]
    """By figure, the table's first one first, and column."""
    states: Mapping[str, Status]
    """By column: ``pass``, or what keeps cells from counting (``untrusted``, ``fail``, ``unsupported``,
    ``missing``)."""
    known: Sequence[KnownValue]

    def spread(self, column: str, figure: str | None = None) -> Spread:
        """Of the repetitions that count, by default of the table's first figure; empty for an unknown column."""
        return self.cells[figure or next(iter(self.cells))].get(column, Spread.of([]))

    def median(self, column: str, figure: str | None = None) -> float | None:
        """Of the repetitions that count, or None."""
        return self.spread(column, figure).median

    def as_json(self) -> dict[str, Any]:
        """The row's entry in ``table.json``."""
        return asdict(self)


def summarise(
    table: Table,
    rows: Sequence[str],
    columns: Sequence[str],
    bounds: Mapping[str, Mapping[str, float]],
    outcomes: Sequence[Outcome],
) -> list[RowSummary]:
    """Every chosen row; ``bounds`` are by row and figure."""
    known = [(source, read_known(source)) for source in table.known]
    summaries = []
    for row in (row for row in table.rows if row.name in rows):
        mine = [o for o in outcomes if o.row == row.name]
        by_column = {column: [o for o in mine if o.column == column] for column in columns}
        summaries.append(
            RowSummary(
                row.name,
                row.label or row.name,
                row.title,
                bounds[row.name],
                {figure: {c: _spread(found, figure) for c, found in by_column.items()} for figure in table.figures},
                {c: _state(found) for c, found in by_column.items()},
                [value for source, values in known for value in _of_row(source, values, row, table.figures[0])],
            )
        )
    return summaries


def _spread(outcomes: Sequence[Outcome], figure: str) -> Spread:
    counted = [o for o in outcomes if o.counts and figure in o.figures]
    return Spread.of([o.figures[figure] for o in observations(counted)], len(counted))


def _state(outcomes: Sequence[Outcome]) -> Status:
    for word in (Status.FAIL, Status.UNTRUSTED, Status.UNSUPPORTED):
        if any(o.verdict == word for o in outcomes):
            return word
    return Status.PASS if any(o.counts for o in outcomes) else Status.MISSING


def read_known(source: Known) -> dict[str, dict[str, str]]:
    """A file of known values by its own name of the row; BadInput where a column is missing."""
    path = paths.CHECKOUT / source.file
    if not path.exists():
        path = paths.CHECKOUT / paths.renamed(source.file)
    if not confine.file(path, f"known.{source.name}.file").is_file():
        raise BadInput(
            "table.known-no-file", "known.{source}.file: there is no file {file}", source=source.name, file=source.file
        )
    rows = read_csv(path)
    for column in (*source.by, *source.columns.values()):
        if rows and column not in rows[0]:
            raise BadInput(
                "table.known-no-column",
                "known.{source}.columns: {file} has no column {column!r}; it has {columns}",
                source=source.name,
                file=source.file,
                column=column,
                columns=", ".join(rows[0]),
            )
    return {"/".join(row[column] for column in source.by): row for row in rows}


def _of_row(source: Known, values: Mapping[str, Mapping[str, str]], row: Row, first_figure: str) -> list[KnownValue]:
    found = values.get(row.known_as.get(source.name, row.name), {})
    return [
        KnownValue(source.name, ours, float(found[theirs]), source.figure or first_figure)
        for ours, theirs in source.columns.items()
        if found.get(theirs)
    ]


def write_csv(summaries: Sequence[RowSummary], columns: Sequence[str], path: Path) -> None:
    """``table.csv``: a row per figure, row and column, in the figure's unit."""
    sources = list(dict.fromkeys(k.by for s in summaries for k in s.known))
    figures = summaries[0].cells
    rows = [_csv_row(s, column, figure, sources) for figure in figures for s in summaries for column in columns]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def _csv_row(summary: RowSummary, column: str, figure: str, sources: Sequence[str]) -> dict[str, Any]:
    spread, bound = summary.spread(column, figure), summary.bounds.get(figure)
    known = {k.by: k.value for k in summary.known if (k.column, k.figure) == (column, figure)}
    low, high, level = spread.interval or (None, None, None)
    return {
        "row": summary.name,
        "column": column,
        "n": spread.n,
        "observations": len(spread.values),
        "median": _text(spread.median),
        "low": _text(spread.low),
        "high": _text(spread.high),
        "interval_low": _text(low),
        "interval_high": _text(high),
        "interval_level": _text(level),
        "bound": _text(bound),
        "of_bound": _text(spread.median / bound if spread.median is not None and bound else None),
        "state": summary.states[column],
        **{source.replace(" ", "_"): _text(known.get(source)) for source in sources},
        "figure": figure,
    }


def _text(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"
