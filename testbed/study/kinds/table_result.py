"""The results of a table, as ``table.json`` and ``table.csv`` have them: an outcome for each run; medians, bounds and
known values by row and column."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, TypeAdapter

from testbed import documents
from testbed.judge import intervals, sign_test
from testbed.judge.intervals import Interval
from testbed.judge.status import Status, current
from testbed.study.cell import folder_of
from testbed.study.record import CellResult, RunRecord, by_setting, observations, records_in, result_of

SCHEMA: Literal[3] = 3
"""Schema of ``table.json``: since 3 its statuses are those of :class:`Status`."""


@dataclass(frozen=True)
class Outcome:
    """One cell: its verdict, and its figures (units in their names) and seconds where it came to its end."""

    row: str
    column: str
    repetition: int
    verdict: Status
    """Status of the run; ``unsupported`` or ``missing`` where there is none."""
    figures: Mapping[str, float]
    seconds: float | None
    why: str
    run: str
    attempts: int = 1
    checks: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    """Results of the run's own checks, by name: :data:`testbed.study.record.OF_A_CHECK`."""
    exact: bool = False
    """Whether it was in virtual time, so that the same question has the same answer every time."""
    host: str = ""
    """The host of a cluster that made it in real time: its own speed and load may show in the figures."""


def outcomes_of(results: Iterable[CellResult]) -> list[dict[str, Any]]:
    """``outcomes`` of ``table.json``."""
    entries = (
        Outcome(
            *Place.of(result),
            verdict=result.record.status,
            why=result.record.reason,
            attempts=result.attempts,
            **{key: getattr(result.record, key) for key in ("figures", "seconds", "run", "checks", "exact", "host")},
        )
        for result in results
    )
    return [{key: value for key, value in asdict(entry).items() if key != "host" or value} for entry in entries]


def results_of(document: Mapping[str, Any]) -> list[CellResult]:
    """The cells of a ``table.json``."""
    return [
        Place(entry["row"], entry["column"], entry["repetition"]).result(
            RunRecord(**{**entry, "status": entry["verdict"], "reason": entry["why"]}), entry.get("attempts", 1)
        )
        for entry in document["outcomes"]
    ]


ROW, COLUMN = "repeated", "runs"
"""The only row and column of a scenario that is repeated."""


class Place(NamedTuple):
    """A cell's row, column and repetition, which counts from 1."""

    row: str
    column: str
    repetition: int

    def __str__(self) -> str:
        of = "run" if self[:2] == (ROW, COLUMN) else f"row {self.row} {self.column}"
        return f"{of} #{self.repetition}"

    @classmethod
    def of(cls, cell: CellResult) -> Place:
        """The place of a table's or sweep's cell."""
        return cls.of_cell("/".join(cell.at[axis] for axis in ("row", "column", "repetition")))

    @classmethod
    def of_cell(cls, cell: str) -> Place:
        """The place by its cell's id."""
        row, column, repetition = cell.split("/")
        return cls(row, column, int(repetition))

    @property
    def at(self) -> dict[str, str]:
        """The points in the table's study."""
        return {"row": self.row, "column": self.column, "repetition": str(self.repetition)}

    @property
    def cell(self) -> str:
        """The cell's id in that study."""
        return "/".join(self.at.values())

    @property
    def folder(self) -> Path:
        """The folder of its runs, in the table's result folder."""
        return folder_of(*self.at.values())

    def result(self, record: RunRecord, attempts: int = 1) -> CellResult:
        """The result of its cell."""
        return CellResult(self.cell, self.at, attempts, record)


def places_of(rows: Mapping[str, int | None], columns: Iterable[str], repeat: int) -> list[Place]:
    """Row by row, the repetitions of a place one after the other. ``rows`` have the most repetitions by name."""
    return [
        Place(row, column, repetition)
        for row, most in rows.items()
        for column in columns
        for repetition in range(1, min(most or repeat, repeat) + 1)
    ]


def in_table(result: CellResult) -> CellResult:
    """The cell as ``table.json`` has it: one whose run broke down after it began has failed, and has its checks."""
    record = result.record
    status = Status.FAIL if record.folder and record.status == Status.ERROR else record.status
    figures = {name: value for name, value in record.figures.items() if value is not None}
    return replace(result, record=record.model_copy(update={"status": status, "figures": figures}))


def missing(place: Place) -> CellResult:
    """A requested cell without a finished run."""
    return place.result(RunRecord(status=Status.MISSING, reason="It was not run."), 0)


def read_cell(place: Place, folder: Path) -> CellResult | None:
    """A cell by the folders of its runs; None where it has no finished run."""
    found = result_of(place.cell, place.at, records_in("", folder, folder))
    return in_table(found) if found else None


def read_table(folder: Path) -> dict[str, Any]:
    """A table's ``table.json``; BadInput where it can't be read."""
    return current(documents.read_json(folder / "table.json"), SCHEMA)


@dataclass(frozen=True)
class Spread:
    """Median and range of what counts; ``n`` runs, of which there may be none: median and range are then None.

    ``values`` are the observations: one for each run, or a single one where ``n`` runs are one observation.
    ``interval`` is the median's (low, high, level), from three observations on (:mod:`testbed.judge.intervals`).
    """

    n: int
    median: float | None
    low: float | None
    high: float | None
    interval: Annotated[Interval | None, BeforeValidator(lambda _: None)] = None
    values: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Derive all from the values, where there are any: earlier intervals had another rule, and no level."""
        ordered = tuple(sorted(self.values))
        vars(self).update(interval=intervals.of_median(ordered), values=ordered)
        if ordered:
            vars(self).update(median=float(statistics.median(ordered)), low=ordered[0], high=ordered[-1])

    @classmethod
    def of(cls, values: Sequence[float], n: int | None = None) -> Spread:
        """The spread of any values, none included; ``n`` where there are more runs than observations."""
        return cls(n or len(values), None, None, None, values=tuple(values))

    @property
    def is_one(self) -> bool:
        """Whether several runs are one observation: its value is not by chance."""
        return len(self.values) == 1 < self.n

    @property
    def may_be_0(self) -> bool:
        """Whether it says nothing as a divisor."""
        return (self.low or 0.0) <= 0 <= (self.high or 0.0)

    def combined(self, other: Spread, of: Callable[[float, float], float]) -> Combined:
        """The ratio, or difference, ``of`` both medians, which have to be there, with its interval; None where one of
        them has too few values, or chance has no part in either."""
        assert self.median is not None
        assert other.median is not None
        least = intervals.LEVEL if self.is_one or other.is_one else intervals.OF_TWO
        both = [
            Interval(s.values[0], s.values[0], 1.0) if s.is_one else intervals.of_median(s.values, least)
            for s in (self, other)
        ]
        interval = intervals.of_two(both[0], both[1], of) if both[0] and both[1] else None
        return Combined(of(self.median, other.median), None if self.is_one and other.is_one else interval, ())


class Combined(NamedTuple):
    """A ratio or difference of two spreads, its interval, and its value in each pair of runs, where these count."""

    value: float
    interval: Interval | None
    pairs: Sequence[float]


@dataclass(frozen=True)
class WatchedSpread(Spread):
    """A spread that was looked at after each repetition, to make no more than it takes: its interval is that of a sign
    test, and it is combined with another in pairs of runs with the same seed."""

    by_repetition: Mapping[str, float] = field(default_factory=dict)
    exact: bool = False
    """Whether all runs were in virtual time, where a single one is an observation without chance, too."""

    def __post_init__(self) -> None:
        """Derive the interval of the sign test."""
        super().__post_init__()
        vars(self).update(interval=sign_test.of_median(self.values))

    @classmethod
    def of_runs(cls, results: Sequence[CellResult], figure: str) -> WatchedSpread:
        """The spread of a figure of a cell's repetitions."""
        counted = counting(results, figure)
        values = tuple(found.record.figures[figure] for found in observations(counted))
        by_repetition = {found.at["repetition"]: found.record.figures[figure] for found in counted}
        exact = all(found.record.exact for found in counted)
        return cls(len(counted), None, None, None, None, values, by_repetition, exact)

    @property
    def is_one(self) -> bool:
        """Whether chance has no part in its value."""
        return len(self.values) == 1 and (self.n > 1 or self.exact)

    def combined(self, other: Spread, of: Callable[[float, float], float]) -> Combined:
        """The median ``of`` the pairs, with its interval."""
        assert isinstance(other, WatchedSpread)
        repetitions = dict.fromkeys((*self.by_repetition, *other.by_repetition))
        both = [(self._at(repetition), other._at(repetition)) for repetition in repetitions]
        pairs = [of(one, two) for one, two in both if one is not None and two is not None]
        without_chance = self.is_one and other.is_one
        value = statistics.median(pairs) if pairs else super().combined(other, of).value
        return Combined(value, None if without_chance else sign_test.of_median(pairs), pairs)

    def _at(self, repetition: str) -> float | None:
        return self.values[0] if self.is_one else self.by_repetition.get(repetition)


def counting(results: Sequence[CellResult], figure: str) -> list[CellResult]:
    """The runs of a cell whose figure counts."""
    return [found for found in results if found.status == Status.PASS and figure in found.record.figures]


@dataclass(frozen=True)
class KnownValue:
    """Another source's value, in the figure's unit."""

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
    """Bounds by figure, of those that have one."""
    cells: Mapping[str, Mapping[str, Spread]]
    """Spreads by figure, the table's first one first, and column."""
    states: Mapping[str, Status]
    """Statuses by column: ``pass``, or the reason why cells do not count (``untrusted``, ``fail``, ``unsupported``,
    ``missing``)."""
    known: Sequence[KnownValue]

    def spread(self, column: str, figure: str | None = None) -> Spread:
        """The spread of the repetitions that count, by default of the table's first figure; empty for an unknown
        column."""
        return self.cells[figure or next(iter(self.cells))].get(column, Spread.of([]))

    def median(self, column: str, figure: str | None = None) -> float | None:
        """The median of the repetitions that count, or None."""
        return self.spread(column, figure).median

    def watched(self, cells: Iterable[CellResult]) -> RowSummary:
        """The row with the spreads of runs that were looked at after each repetition."""
        runs = by_setting(cells)
        spreads = {
            figure: {column: WatchedSpread.of_runs(runs[self.name, column], figure) for column in of}
            for figure, of in self.cells.items()
        }
        return replace(self, cells=spreads)


_ROWS = TypeAdapter(list[RowSummary])


def summaries_of(document: Mapping[str, Any]) -> list[RowSummary]:
    """The rows of a ``table.json``."""
    return _ROWS.validate_python(document["rows"])


def write_csv(summaries: Sequence[RowSummary], columns: Sequence[str], path: Path) -> None:
    """``table.csv``: a row per figure, row and column, in the figure's unit."""
    sources = list(dict.fromkeys(k.by for s in summaries for k in s.known))
    figures = summaries[0].cells
    rows = [_csv_row(s, column, figure, sources) for figure in figures for s in summaries for column in columns]
    documents.write_csv(path, rows)


def _csv_row(summary: RowSummary, column: str, figure: str, sources: Sequence[str]) -> dict[str, Any]:
    spread, bound = summary.spread(column, figure), summary.bounds.get(figure)
    known = {k.by: k.value for k in summary.known if (k.column, k.figure) == (column, figure)}
    low, high, level = spread.interval or (None, None, None)
    row = {
        "row": summary.name,
        "column": column,
        "n": spread.n,
        "observations": len(spread.values),
        **{key: getattr(spread, key) for key in ("median", "low", "high")},
        "interval_low": low,
        "interval_high": high,
        "interval_level": level,
        "bound": bound,
        "of_bound": spread.median / bound if spread.median is not None and bound else None,
        "state": summary.states[column],
        **{source.replace(" ", "_"): known.get(source) for source in sources},
        "figure": figure,
    }
    return {key: f"{value:.4f}" if isinstance(value, float) else value for key, value in row.items()}
