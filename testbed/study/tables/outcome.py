"""What became of a cell, read from its run's result folder."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from testbed.documents import read_json
from testbed.judge import intervals
from testbed.judge.intervals import Interval
from testbed.judge.status import Status, current
from testbed.study.record import records_in
from testbed.study.result import CellResult, result_of

SCHEMA: Literal[3] = 3
"""Of ``table.json``: since 3 its statuses are those of :class:`Status`."""


@dataclass(frozen=True)
class Outcome:
    """One cell: its verdict, and its figures (units in their names) and seconds where it came to its end."""

    row: str
    column: str
    repetition: int
    verdict: Status
    """That of the run; ``unsupported`` or ``missing`` where there is none."""
    figures: Mapping[str, float]
    seconds: float | None
    why: str
    run: str
    attempts: int = 1
    checks: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    """Of each of the run's own checks, by name: :data:`testbed.study.record.OF_A_CHECK`."""
    exact: bool = False
    """Whether it was in virtual time, so that the same question has the same answer every time."""
    host: str = ""
    """Of a cluster's, the one that made it in real time: its own speed and load may show in the figures."""

    @property
    def standing(self) -> Status:
        """What the run is worth to whatever it is a part of; one that broke down is an ``error``."""
        broken = bool(self.checks) and all(check["status"] == Status.ERROR for check in self.checks.values())
        return Status.ERROR if self.verdict == Status.FAIL and broken else self.verdict

    @property
    def counts(self) -> bool:
        """Whether its values may be relied on."""
        return self.verdict == Status.PASS

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Outcome:
        """Reads the cell's entry."""
        return cls(**{**document, "verdict": Status(document["verdict"])})

    def as_json(self) -> dict[str, Any]:
        """The cell's entry in ``table.json``."""
        return {key: value for key, value in asdict(self).items() if key != "host" or value}


def read_table(folder: Path) -> dict[str, Any]:
    """A table's ``table.json``; BadInput where it can't be read."""
    return current(read_json(folder / "table.json"), SCHEMA)


def observations(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Those that each tell something: runs of a cell in virtual time that came out alike in all that was measured are
    one observation, however many they are. Nothing in them is left to chance, so that each further run is the same."""
    cells: dict[tuple[str, str], list[Outcome]] = {}
    for found in outcomes:
        cells.setdefault((found.row, found.column), []).append(found)
    return [found for runs in cells.values() for found in (runs[:1] if _are_one(runs) else runs)]


def _are_one(runs: Sequence[Outcome]) -> bool:
    first = runs[0]
    return all(run.exact and (run.figures, run.checks) == (first.figures, first.checks) for run in runs)


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
    interval: Interval | None = None
    values: Sequence[float] = ()

    @classmethod
    def of(cls, values: Sequence[float], n: int | None = None) -> Spread:
        """Of any values, none included; ``n`` where there are more runs than observations."""
        if not values:
            return cls(0, None, None, None)
        ordered = sorted(values)
        return cls(
            len(values) if n is None else n,
            float(statistics.median(ordered)),
            ordered[0],
            ordered[-1],
            intervals.of_median(ordered),
            tuple(ordered),
        )

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Spread:
        """From ``table.json``. The interval is reckoned anew, as earlier ones were by another rule and had no level."""
        values, n = document.get("values", ()), int(document["n"])
        return cls.of(values, n) if values else cls(n, document["median"], document["low"], document["high"])

    @property
    def is_one(self) -> bool:
        """Whether several runs are one observation: its value is not by chance."""
        return len(self.values) == 1 < self.n

    @property
    def may_be_0(self) -> bool:
        """Whether it says nothing as a divisor."""
        return (self.low or 0.0) <= 0 <= (self.high or 0.0)

    def over(self, other: Spread) -> Interval | None:
        """Of the ratio of both medians, where the other's can't be 0; None where one of them has too few values, or
        chance has no part in either."""
        return self._with(other, intervals.ratio)

    def less(self, other: Spread) -> Interval | None:
        """Of the difference of both medians; None as for :meth:`over`."""
        return self._with(other, intervals.difference)

    def _with(self, other: Spread, combine: Callable[[Interval, Interval], Interval]) -> Interval | None:
        if self.is_one and other.is_one:
            return None
        least = intervals.LEVEL if self.is_one or other.is_one else intervals.OF_TWO
        both = [
            Interval(s.values[0], s.values[0], 1.0) if s.is_one else intervals.of_median(s.values, least)
            for s in (self, other)
        ]
        return combine(both[0], both[1]) if both[0] and both[1] else None


def outcome_of(result: CellResult) -> Outcome:
    """Of a table's cell, or a sweep's."""
    record, at = result.record, result.at
    return Outcome(
        at["row"],
        at["column"],
        int(at["repetition"]),
        Status.FAIL if record.folder and record.status == Status.ERROR else record.status,
        {name: value for name, value in record.figures.items() if value is not None},
        record.seconds,
        record.reason,
        record.run,
        result.attempts,
        record.checks,
        record.exact,
        record.host,
    )


def missing(row: str, column: str, repetition: int) -> Outcome:
    """A cell that was asked for and has no finished run."""
    return Outcome(row, column, repetition, Status.MISSING, {}, None, "It was not run.", "", 0)


def read_cell(row: str, column: str, repetition: int, folder: Path) -> Outcome | None:
    """The outcome of a cell by the folders of its runs; None where it has no finished run."""
    at = {"row": row, "column": column, "repetition": str(repetition)}
    found = result_of("", at, records_in("", folder, folder))
    return outcome_of(found) if found else None
