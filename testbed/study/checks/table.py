"""Judges a table: each of its checks over the medians and their intervals, and the verdict over all.

Where three runs or more count, the interval of the median (or of the ratio of two) decides. A check passes where all
of them lie inside its limits, fails where one lies outside, and is inconclusive where one lies partly inside. The
reason names the level of the interval. Fewer runs are judged by their median, and runs in virtual time that are one
observation by its value.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial as partial_of
from itertools import chain, pairwise
from operator import sub, truediv
from statistics import fmean
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import Field, model_validator

from testbed.judge import intervals, power, sign_test
from testbed.judge.checks.parameters import CheckName
from testbed.judge.checks.result import NOT_SELECTED, SELECTED, CheckResult, Trust, Verdict, rounded
from testbed.judge.expected_failures import ExpectedFailure
from testbed.judge.figures import unit_of, with_unit
from testbed.judge.intervals import Interval
from testbed.judge.status import BEST_FIRST, OPEN, Status, summary_of, verdict_of, worst
from testbed.message import InvalidValue, Message, Messages
from testbed.plan.engines import DEFAULT, named
from testbed.scenario.quantities import Fraction
from testbed.scenario.section import Section
from testbed.series.line import Line
from testbed.study.checks.each_run import EachRunCheck, FigureName, OfFigure, judge_each_run
from testbed.study.kinds.table_result import Combined, Place, RowSummary, Spread, WatchedSpread
from testbed.study.record import CellResult, by_setting, seed_ignored

MOST_TOLD = 20
"""Most runs that do not hold to name."""
LEAST_POINTS = 3
"""Two points lie on a line whatever they are."""
Limits = tuple[float, float | None]
"""The least and the largest value, both included; None: no largest."""
Words = Callable[[float], str]
"""A value in words."""
Rows = Sequence[RowSummary]
Cells = Sequence[CellResult]


class Measured(NamedTuple):
    """The value of a place, its interval where enough runs count, how both lie beside the limits, in words, and the
    spreads that it is made of. Of watched runs that chance has a part in, it has the evidence that the value lies
    inside, that it lies beyond, and the values or ratios of the runs."""

    value: float
    interval: Interval | None
    found: Status
    text: str
    behind: Sequence[Spread]
    evidence: tuple[float, float] | None
    runs: Sequence[float]


def _beside(limits: Limits, found: Combined, words: Words, what: str, *behind: Spread) -> Measured:
    value, interval, runs = found
    text = f"{what} {words(value)}".strip()
    text += f" [{words(interval.low)}, {words(interval.high)}]" if interval else ""
    status, evidence = intervals.against(value, interval, *limits), None
    scattering = behind[0].values if len(behind) == 1 else runs
    if any(isinstance(spread, WatchedSpread) and not spread.is_one for spread in behind):
        status = status if interval else sign_test.undecided(len(runs))
        evidence = sign_test.of_limits(runs, *limits)
    return Measured(value, interval, status, text, behind, evidence, scattering)


def _quotient(limits: Limits, one: Spread, other: Spread, words: Words, what: str) -> Measured | None:
    """The quotient of two spreads; None where the divisor may be 0."""
    if one.median is None or not other.median or other.may_be_0:
        return None
    return _beside(limits, one.combined(other, truediv), words, what, one, other)


def _in_parts(limits: Limits, spread: Spread, of: float | None, words: Words, what: str) -> Measured | None:
    """A median in parts of a number; None without one of them."""
    if spread.median is None or not of:
        return None
    interval, runs = spread.interval.over(of) if spread.interval else None, [value / of for value in spread.values]
    return _beside(limits, Combined(spread.median / of, interval, runs), words, what, spread)


class OfTwo(OfFigure):
    """Compares ``column`` with ``over``."""

    whole: ClassVar[frozenset[str]] = frozenset({"column"})
    column: str
    over: str

    @property
    def columns(self) -> list[str]:
        """The columns that it needs."""
        return [self.column, self.over]


class OfColumns(OfFigure):
    """Looks at ``columns``, each by itself."""

    columns: list[str] = Field(min_length=1)


class RatioCheck(OfTwo):
    """The ratio of ``column`` to ``over`` is ``min``..``max`` in each row."""

    judge: Literal["ratio"]
    min: float = 0.0
    max: float | None = None

    def at(self, row: RowSummary, column: str, figure: str) -> Measured | None:
        """The ratio; None without values that count."""
        one, other = row.spread(column, figure), row.spread(self.over, figure)
        return _quotient((self.min, self.max), one, other, "{:.2f}×".format, f"row {row.label}")


class DifferenceCheck(OfTwo):
    """The difference of ``column`` less ``over`` is ``min``..``max`` in each row, in the figure's unit."""

    judge: Literal["difference"]
    min: float
    max: float

    def at(self, row: RowSummary, column: str, figure: str) -> Measured | None:
        """The difference; None without values that count."""
        one, other = row.spread(column, figure), row.spread(self.over, figure)
        if one.median is None or other.median is None:
            return None
        words = f"{{:.4g}} {unit_of(figure)}".rstrip().format
        return _beside((self.min, self.max), one.combined(other, sub), words, f"row {row.label}", one, other)


class BoundCheck(OfColumns):
    """The part of the row's bound is ``min``..``max`` in each row, for the columns."""

    judge: Literal["bound"]
    min: float = 0.0
    max: float | None = None

    def at(self, row: RowSummary, column: str, figure: str) -> Measured | None:
        """The part of the bound; None without one, or without values that count."""
        spread, bound, words = row.spread(column, figure), row.bounds.get(figure), "{:.1%}".format
        return _in_parts((self.min, self.max), spread, bound, words, f"row {row.label} {column}")


class WithinCheck(OfColumns):
    """The columns' figure is ``min``..``max`` in each row."""

    judge: Literal["within"]
    min: float | None = None
    max: float | None = None

    @model_validator(mode="after")
    def _a_limit(self) -> WithinCheck:
        if self.min is None and self.max is None:
            raise InvalidValue("table.no-bounds", "give min or max, or both")
        return self

    def at(self, row: RowSummary, column: str, figure: str) -> Measured | None:
        """The figure; None without values that count."""
        limits = float("-inf") if self.min is None else self.min, self.max
        words = f"{{:.6g}} {unit_of(figure)}".rstrip().format
        return _in_parts(limits, row.spread(column, figure), 1, words, f"row {row.label} {column}")


class KnownCheck(OfColumns):
    """The columns are within ``tolerance`` of a known value in each row: of ``by``'s, or of at least one."""

    judge: Literal["known"]
    by: str | None = None
    """The name of the known values, where the table has several."""
    tolerance: Fraction
    cpu_time: bool = False
    """Whether the known values contain a machine's CPU time: the check is then skipped where CPU time costs nothing.
    Tables of earlier results have it; :class:`OffsetCheck` says more."""
    least_n: int = Field(1, ge=1)
    """Medians of fewer runs leave the check open: if packets are lost by chance, one run says little."""

    def at(self, row: RowSummary, column: str, figure: str) -> Measured | None:
        """The distance from the nearest known value; near any of them is near enough. None without one, or without
        values that count."""
        spread = row.spread(column, figure)
        median, limits = spread.median, (-self.tolerance, self.tolerance)
        known = [k for k in row.known if (k.column, k.figure) == (column, figure) and self.by in (None, k.by)]
        if median is None or not known or spread.n < self.least_n:
            return None
        nearest = min(known, key=lambda k: abs(median / k.value - 1))
        off: dict[str, Measured] = {}
        for k in known:
            interval = spread.interval.over(k.value).less(1) if spread.interval else None
            found = Combined(median / k.value - 1, interval, [value / k.value - 1 for value in spread.values])
            off[k.by] = _beside(limits, found, "{:+.0%}".format, "", spread)
        best = min((measured.found for measured in off.values()), key=BEST_FIRST.index)
        if best == Status.PASS:
            where = f"of {' and '.join(by for by, measured in off.items() if measured.found == best)}"
        else:
            where = ", ".join(f"{measured.text} of {by}" for by, measured in off.items())
        return off[nearest.by]._replace(found=best, text=f"row {row.label} {column} {where}")


class MedianRatioCheck(OfTwo):
    """The median over the rows of the ratio of ``column`` to ``over`` is ``min``..``max``."""

    whole: ClassVar[frozenset[str]] = frozenset({"row", "column"})
    judge: Literal["median_ratio"]
    min: float = 0.0
    max: float | None = None

    def places(self, rows: Rows, figure: str) -> dict[str, Measured | None]:
        """The median; None where a row has no ratio."""
        words: Words = "{:.3f}".format
        each = [
            _quotient((0.0, None), r.spread(self.column, figure), r.spread(self.over, figure), words, "") for r in rows
        ]
        ratios = [found for found in each if found]
        if len(ratios) < max(len(rows), LEAST_POINTS):
            return {self.column: None}
        interval = None
        if by := [found.interval for found in ratios if found.interval]:
            # Each end is the median of the ends: it covers wherever all of the rows' intervals do (Bonferroni).
            ends = [found.interval or Interval(found.value, found.value, 1.0) for found in ratios]
            level = max(0.0, 1 - sum(1 - one.level for one in by))
            low, high, _ = (statistics.median(end) for end in zip(*ends, strict=True))
            interval = Interval(low, high, level)
        most = max(len(found.runs) for found in ratios)
        runs = [statistics.median([*found.runs, *[found.value] * most][n] for found in ratios) for n in range(most)]
        behind = [spread for found in ratios for spread in found.behind]
        middle = Combined(statistics.median(found.value for found in ratios), interval, runs)
        return {self.column: _beside((self.min, self.max), middle, words, "the median", *behind)}


class OffsetCheck(OfColumns):
    """All columns and rows differ from their known values by one offset, a server's and a machine's own time: each by
    the median difference, but for ±``within`` in the figure's unit."""

    judge: Literal["offset"]
    within: float = Field(gt=0)

    def places(self, rows: Rows, figure: str) -> dict[str, Measured | None]:
        """Differences of all cells less the offset; None for one without values, and for fewer than three."""
        known = {(row.name, k.column): k.value for row in rows for k in row.known if k.figure == figure}
        spreads = {(row.name, column): row.spread(column, figure) for row in rows for column in self.columns}
        off = {cell: of.median - known[cell] for cell, of in spreads.items() if cell in known and of.median is not None}
        found: dict[str, Measured | None] = dict.fromkeys(map(" ".join, spreads))
        if len(off) < LEAST_POINTS:  # one that is fitted to a point or two says nothing
            return found
        limits, words = (-self.within, self.within), f"{{:+.4g}} {unit_of(figure)}".rstrip().format
        offset = statistics.median(off.values())
        for cell, difference in off.items():
            spread, what = spreads[cell], f"{' '.join(cell)} beside {offset:+.4g}"
            interval = spread.interval.less(known[cell] + offset) if spread.interval else None
            found[" ".join(cell)] = _beside(
                limits,
                Combined(difference - offset, interval, [x - known[cell] - offset for x in spread.values]),
                words,
                what,
                spread,
            )
        return found


class RowRatioCheck(Section):
    """The ratio of row ``row`` to row ``over`` is ``min``..``max`` in each column."""

    whole: ClassVar[frozenset[str]] = frozenset({"row"})
    name: CheckName
    judge: Literal["row_ratio"]
    figure: FigureName | None = None
    row: str
    over: str
    columns: list[str] = Field(min_length=1)
    min: float = 0.0
    max: float | None = None

    @property
    def rows(self) -> list[str]:
        """The rows that it needs."""
        return [self.row, self.over]

    def places(self, rows: Rows, figure: str) -> dict[str, Measured | None]:
        """The ratio of both rows' medians by column; None where a value is missing."""
        by_name, limits, words = {row.name: row for row in rows}, (self.min, self.max), "{:.3f}".format
        one, other = by_name.get(self.row), by_name.get(self.over)
        if one is None or other is None:
            return dict.fromkeys(self.columns)
        return {c: _quotient(limits, one.spread(c, figure), other.spread(c, figure), words, c) for c in self.columns}


class SlopeCheck(OfColumns):
    """Over all cells of the rows and columns, the figure rises by ``min``..``max`` per unit of the figure ``x``.

    The line is fitted by least squares, with an intercept.
    """

    whole: ClassVar[frozenset[str]] = frozenset({"row", "column"})
    judge: Literal["slope"]
    x: FigureName
    min: float
    max: float
    least_r2: float = Field(0.0, ge=0, le=1)
    """The share of the figure's variance that the line must explain."""


class RisesCheck(OfTwo):
    """The difference of ``column`` less ``over`` becomes larger from row to row, in the order of the table. Judged by
    the medians."""

    whole: ClassVar[frozenset[str]] = frozenset({"row", "column"})
    judge: Literal["rises"]


RowCheck = RatioCheck | DifferenceCheck | BoundCheck | WithinCheck | KnownCheck
"""Looks at one row at a time."""
RowsCheck = OffsetCheck | RowRatioCheck | MedianRatioCheck
"""Looks at several rows together."""
OfPairs = RatioCheck | DifferenceCheck | MedianRatioCheck | RowRatioCheck
"""Looks at a ratio or difference, of watched runs in pairs."""
TableCheck = Annotated[RowCheck | RowsCheck | RisesCheck | SlopeCheck | EachRunCheck, Field(discriminator="judge")]


def judge_table(
    name: str,
    checks: Sequence[TableCheck],
    run: str,
    summaries: Rows,
    cells: Cells,
    *,
    partial: bool,
    engine: str = DEFAULT,
    expected: Mapping[str, ExpectedFailure] | None = None,
    every_row: Sequence[str] | None = None,
) -> Verdict:
    """The verdict of a table. ``cells`` has every requested cell, also the missing ones. ``partial``: a quick one or a
    selection, which may leave checks open. ``expected`` are expected failures, by check. ``every_row`` of the table is
    given with a selection, which is judged as one."""
    known = expected or {}
    judge = judge_one if every_row is None else partial_of(_judge_selected, every_row)
    results = [judge(check, summaries, cells, engine, known.get(check.name)) for check in checks]
    if every_row is not None and all(result.part in (*OPEN, Status.SKIPPED) for result in results):
        partial = False  # runs that hold their own checks say nothing of what the table is about
        none = Message("table.nothing-decided", "None of the table's checks is decided by what was selected.")
        results.append(CheckResult.of("the selection", "selection", Status.INSUFFICIENT_DATA, none))
    judged = {check.check for check in checks if isinstance(check, EachRunCheck) and check.rows is None}
    # Where a table judges every check of its runs over all of them, no run is judged again.
    if not judged or not all(set(cell.record.checks) <= judged for cell in cells):
        own = judge_runs(cells)
        results.insert(0, own.saying(_OF_SELECTION.followed_by(own.said)) if every_row is not None else own)
    return verdict_over(results, cells, name, run, partial=partial)


_OF_SELECTION = Message("table.of-selection", "Over the selection alone:")


def _judge_selected(
    every_row: Sequence[str],
    check: TableCheck,
    summaries: Rows,
    cells: Cells,
    engine: str,
    expected: ExpectedFailure | None,
) -> CheckResult:
    """One check over the rows and columns that were selected: skipped without any of its own, or where its rule takes
    all of them and one is missing."""
    selected = {"row": [row.name for row in summaries], "column": list(next(iter(summaries[0].cells.values())))}
    every = {**selected, "row": every_row}
    wanted = {axis: every[axis] if names is None else names for axis, names in _named_by(check).items()}
    absent = {axis: [name for name in names if name not in selected[axis]] for axis, names in wanted.items()}
    needed = {
        axis: names
        for axis, names in absent.items()
        if names and (axis in check.whole or len(names) == len(wanted[axis]))
    }
    if needed:
        which = " and ".join(f"{axis}{'s' * (len(names) > 1)} {', '.join(names)}" for axis, names in needed.items())
        said = Message("table.not-selected", f"Skipped: it needs what was not selected, {which}.")
        return CheckResult.of(check.name, check.judge, Status.SKIPPED, said)
    if absent["column"]:
        there = [name for name in wanted["column"] if name in selected["column"]]
        check = check.model_copy(update={"columns": there})
    found = judge_one(check, summaries, cells, engine, expected)
    if (
        found.outcome == "xpass"
        and any(absent.values())
        and not _is_at(expected, [*selected["row"], *selected["column"]])
    ):
        found = judge_one(check, summaries, cells, engine)  # what is known to fail is in another row or column
    if found.status == Status.SKIPPED or not (isinstance(check, EachRunCheck) or any(absent.values())):
        return found
    return found.saying(_OF_SELECTION.followed_by(found.said))


def _is_at(expected: ExpectedFailure | None, selected: Collection[str]) -> bool:
    """Whether a place that is known to fail is one of the selected rows and columns."""
    return expected is not None and any(all(name in selected for name in at.split()) for at in expected.measured)


def verdict_over(results: Sequence[CheckResult], cells: Cells, name: str, run: str, *, partial: bool) -> Verdict:
    """The verdict over the checks' results, and the runs that they are about."""
    codes = [result.code for result in results]
    apart = codes.count(NOT_SELECTED) if {SELECTED, NOT_SELECTED} & set(codes) else None
    trust = Trust.of(
        Message("run.untrusted", f"{Place.of(cell)}, {cell.attempts} attempts: {cell.record.reason}")
        for cell in cells
        if cell.status == Status.UNTRUSTED
    )
    parts = [*(_part(result) for result in results), *trust.parts]
    return Verdict(
        scenario=name,
        run=run,
        verdict=verdict_of(parts, may_stay_open=partial),
        summary=summary_of(((result.name, result.word) for result in results), apart=apart),
        checks=list(results),
        trust=trust,
        duration_s=None,
        policy=", ".join(dict.fromkeys(cell.at["column"] for cell in cells)),
    )


def _part(result: CheckResult) -> Status:
    """The check's status as a part: where runs were judged by themselves and disagree, one of them failed, and no
    shorter form leaves that open."""
    return Status.FAIL if result.judge == "each_run" and result.status == Status.INCONCLUSIVE else result.part


def judge_one(
    check: TableCheck,
    summaries: Rows,
    cells: Cells,
    engine: str = DEFAULT,
    expected: ExpectedFailure | None = None,
    *,
    watched: bool = False,
) -> CheckResult:
    """One check over the rows and columns that were run. A cell of them that failed its own checks, broke down, is
    missing or can't be trusted is a part of it: the worst of the cells and of what their figures say decides. Only the
    figures may fail as ``expected``, never a cell. ``watched``: the repetitions end when something is decided, so
    that a sign test decides (:mod:`testbed.judge.sign_test`)."""
    if isinstance(check, KnownCheck) and check.cpu_time and named(engine).virtual_time:
        said = Message(
            "known.of-a-machine",
            f"Skipped for a network-only model (--engine {engine}: one core, CPU free): the known values contain the "
            "CPU time of the machine that they are from.",
        )
        return CheckResult.of(check.name, check.judge, Status.SKIPPED, said)
    mine = cells_of(check, cells)
    if isinstance(check, EachRunCheck):
        return judge_each_run(check, mine, expected, watched=watched)
    rows = [row for row in summaries if check.rows is None or row.name in check.rows]
    figure = check.figure or next((name for row in summaries for name in row.cells), "")
    if watched:
        rows = [row.watched(mine) for row in rows]
    if isinstance(check, (RisesCheck, SlopeCheck)):
        result = _judge_line(check, rows, figure)
        result = _in_repetitions(check, rows, figure, mine, result) if watched else result
    else:
        result = _judge_places(check, rows, figure)
    result = result.expected_to_fail(expected)
    apart = [cell for cell in mine if cell.standing != Status.PASS]
    if not apart:
        return result
    status = worst([result.part, *(cell.standing for cell in apart)])
    first = next((cell for cell in apart if cell.standing == status), apart[0])
    said = Message(
        "cells.do-not-count",
        f"{len(apart)} of {len(mine)} runs that it is about don't count: {Place.of(first)}: "
        f"{first.record.reason.rstrip('.')}.",
    )
    return result.saying(said.followed_by(result.said), status=status, outcome=None)


def cells_of(check: TableCheck, cells: Cells) -> list[CellResult]:
    """The cells that a check is about."""
    return [cell for cell in cells if is_about(check, cell.at)]


def is_about(check: TableCheck, at: Mapping[str, str]) -> bool:
    """Whether a check is about a cell: one of its rows, in its columns."""
    return all(names is None or at[axis] in names for axis, names in _named_by(check).items())


def _named_by(check: TableCheck) -> dict[str, Sequence[str] | None]:
    """The rows and columns that a check names; None: it is about all."""
    return {"row": check.rows, "column": None if isinstance(check, EachRunCheck) else check.columns}


def places_of(check: RowCheck | RowsCheck, rows: Rows, figure: str) -> dict[str, Measured | None]:
    """The places that a check looks at: a row and column, or a column over several rows."""
    if isinstance(check, RowsCheck):
        return check.places(rows, figure)
    wanted = check.columns[:1] if isinstance(check, OfTwo) else check.columns
    return {f"{row.name} {column}": check.at(row, column, figure) for row in rows for column in wanted}


def _judge_places(check: RowCheck | RowsCheck, rows: Rows, figure: str) -> CheckResult:
    """Each place (a row and column, or a column over several rows) by its value or interval; open without one."""
    which = f", row {check.row} over row {check.over}" if isinstance(check, RowRatioCheck) else ""
    places = places_of(check, rows, figure)
    there = {name: found for name, found in places.items() if found}
    worst_first = (Status.FAIL, Status.INSUFFICIENT_DATA, Status.INCONCLUSIVE, Status.PASS)
    texts = {status: [of.text for of in there.values() if of.found == status] for status in worst_first}
    figures, decided = _figures(there), {name: (rounded(of.value), of.interval) for name, of in there.items()}
    if isinstance(check, KnownCheck):  # its figures are errors; what was measured stands beside them
        measured_by = {name: found.behind[0] for name, found in there.items()}
        decided = {name: (rounded(spread.median or 0), spread.interval) for name, spread in measured_by.items()}
        figures["medians"] = {name: median for name, (median, _) in decided.items()}
        figures["median_intervals"] = {name: list(of) for name, (_, of) in decided.items() if of}
    if evidence := [of.evidence for of in there.values() if of.evidence]:
        figures["evidence"] = max(min(inside for inside, _ in evidence), fmean(beyond for _, beyond in evidence))
    figures |= _least_seen(check, there.values())
    said = Messages(_told(found, "; ".join(of), which) for found, of in texts.items() if of)
    said += _how_sure(there)
    if absent := [column for column in check.columns if rows and column not in rows[0].cells[figure]]:
        said.add_message("cells.no-column", f"Not decided: there is no column {', '.join(absent)}.")
    elif not places:
        said.add_message("cells.none", "Not decided: none of its cells was run.")
    elif missing := len(places) - len(there):
        said.add_message(
            "cells.no-value",
            f"Not decided for {missing} of {len(places)} cells: no run with a value counts, too few do, or it is 0.",
        )
    status: Status = worst(found.found for found in there.values())
    if status not in (Status.FAIL, Status.INCONCLUSIVE) and (len(there) < len(places) or not places):
        status = Status.INSUFFICIENT_DATA
    measured: float | str | None = f"{len(texts[Status.PASS])} of {len(places)}"
    expected = f"{len(places)} of {len(places)}"
    if isinstance(check, (RowRatioCheck, MedianRatioCheck)):
        each = [found.text for found in there.values()]
        measured = rounded(next(iter(there.values())).value) if len(there) == 1 else ", ".join(each) or None
        expected = f"{check.min:g} to {check.max:g}" if check.max is not None else f"at least {check.min:g}"
    values: Any = {"measured": measured, "expected": expected, "figures": figures}
    failing = {name: of for name, of in decided.items() if there[name].found == Status.FAIL}
    return CheckResult.of(check.name, check.judge, status, said.joined(), **values).failing_at(failing)


def _told(found: Status, places: str, which: str) -> Message:
    if found == Status.FAIL:
        return Message("cells.outside", f"Not{which}: {places}.")
    if found in (Status.INCONCLUSIVE, Status.INSUFFICIENT_DATA):
        return Message("cells.inconclusive", f"Inconclusive{which}: {places}.")
    return Message("cells.inside", f"Holds{which}: {places}.")


def _figures(places: Mapping[str, Measured]) -> dict[str, Any]:
    """The values, their ``intervals``, and the least number of ``observations`` behind any place; of two spreads the
    larger, as one without chance adds none."""
    found: dict[str, Any] = {name: rounded(of.value) for name, of in places.items()}
    if by_interval := {name: [rounded(end) for end in of.interval] for name, of in places.items() if of.interval}:
        found["intervals"] = by_interval
    found["observations"] = min((max(len(one.values) for one in of.behind) for of in places.values()), default=0)
    return found


def _least_seen(check: RowCheck | RowsCheck, places: Collection[Measured]) -> dict[str, Any]:
    """The smallest distance from a limit that this many runs would have shown, where it is known: in watched runs by
    the sign test, else by the interval of a median, or of each of two in a quotient."""
    if watched := [of.runs for of in places if of.evidence]:
        return power.seen(watched, power.of_sign_test)
    scattering = [[spread.values for spread in of.behind if not spread.is_one] for of in places]
    many = max(map(len, scattering), default=0)
    if many > 2 or isinstance(check, DifferenceCheck):
        return {}
    return power.seen(chain(*scattering), partial_of(power.of_interval, of_two=many == 2), max(many, 1))


def _how_sure(places: Mapping[str, Measured]) -> Messages:
    """Sentences about the runs beside the values: the level of their intervals, or why there is none. Each names its
    places where there are others; none without places."""
    by_interval = [of for of in places.values() if of.interval]
    one = [name for name, of in places.items() if not of.interval and all(s.is_one for s in of.behind)]
    few = [name for name, of in places.items() if not of.interval and name not in one]
    said = Messages()
    if by_interval:
        levels = intervals.levels_in_words(of.interval.level for of in by_interval if of.interval)
        how = ", whenever the runs end" if any(of.evidence for of in by_interval) else ""
        said.add_message("sure.by-intervals", f"Decided by intervals of at least {levels}{how}.")
    if one:
        said.add_message(
            "sure.one-observation",
            f"{max(spread.n for name in one for spread in places[name].behind)} runs, one "
            f"observation{_which(one, places)}: nothing is left to chance, its value decides.",
        )
    if few and any(places[name].evidence for name in few):
        said.add_message("sure.undecided", f"Fewer than {sign_test.LEAST_N} runs decide nothing{_which(few, places)}.")
    elif few:
        said.add_message(
            "sure.too-few",
            f"Judged by the median alone, of fewer than {intervals.LEAST_N} runs, which say nothing of the "
            f"spread{_which(few, places)}.",
        )
    return said


def _which(names: Sequence[str], places: Collection[str]) -> str:
    return f" ({', '.join(names)})" if len(names) < len(places) else ""


def _judge_line(check: RisesCheck | SlopeCheck, rows: Rows, figure: str) -> CheckResult:
    return _judge_rises(check, rows, figure) if isinstance(check, RisesCheck) else _judge_slope(check, rows, figure)


def _in_repetitions(
    check: RisesCheck | SlopeCheck, rows: Rows, figure: str, cells: Cells, over_all: CheckResult
) -> CheckResult:
    """The check of a line over watched runs: judged in each repetition of all cells, by the runs of one seed, it holds
    where it holds in most, by a sign test. Without chance the medians decide."""
    spreads = [spread for row in rows for of in row.cells.values() for spread in of.values() if spread.n]
    if all(spread.is_one for spread in spreads) or over_all.status not in (Status.PASS, Status.FAIL):
        return over_all
    by_name: dict[str, list[CellResult]] = {}
    for cell in cells:
        by_name.setdefault(cell.at["repetition"], []).append(cell)
    found = [_judge_line(check, [row.watched(of) for row in rows], figure).status for of in by_name.values()]
    n, held = sum(status in (Status.PASS, Status.FAIL) for status in found), found.count(Status.PASS)
    said = Message("line.in-repetitions", f"By the runs of one seed each it holds in {held} of {n} repetitions.")
    evidence = max(sign_test.evidence(n, held), sign_test.evidence(n, n - held))
    figures = over_all.figures | {"evidence": evidence, "observations": n}
    return over_all.saying(over_all.said.followed_by(said), status=sign_test.of_signs(held, n), figures=figures)


def _judge_slope(check: SlopeCheck, rows: Rows, figure: str) -> CheckResult:
    """The slope of the line through the cells' medians against the limits; open with fewer than three, or with all x
    alike."""
    wanted = f"{check.min:g} to {check.max:g}"
    pairs = [(row.median(column, check.x), row.median(column, figure)) for row in rows for column in check.columns]
    points = [(x, y) for x, y in pairs if x is not None and y is not None]
    if len(points) < LEAST_POINTS or len({x for x, _ in points}) == 1:
        said = Message(
            "slope.too-few-cells",
            f"Not decided: a line takes {LEAST_POINTS} cells with values, of different {check.x}.",
        )
        return CheckResult.of(check.name, check.judge, Status.INSUFFICIENT_DATA, said, expected=wanted)
    line = Line.through(*zip(*points, strict=True))
    inside = check.min <= line.slope <= check.max and line.r2 >= check.least_r2
    said = Message(
        "slope.fitted",
        f"{with_unit(figure)} = {line.slope:.4f} × ({with_unit(check.x)}) {line.intercept:+.4f} through "
        f"{len(points)} cells, which explains {line.r2:.4f} of the "
        f"variance{f' (at least {check.least_r2:g})' if check.least_r2 else ''}; expected {wanted}.",
    )
    fitted = {name: rounded(value) for name, value in line._asdict().items()}
    through = {"points": [[rounded(x), rounded(y)] for x, y in points], "x": check.x, "figure": figure}
    values: Any = {"measured": fitted["slope"], "expected": wanted, "figures": fitted | through}
    return CheckResult.of(check.name, check.judge, Status.PASS if inside else Status.FAIL, said, **values)


def _judge_rises(check: RisesCheck, rows: Rows, figure: str) -> CheckResult:
    """Whether the difference of two columns' medians is larger in each row than in the one before."""
    pairs = [(row, row.median(check.column, figure), row.median(check.over, figure)) for row in rows]
    reported = [(row, one - other) for row, one, other in pairs if one is not None and other is not None]
    falls = [f"{b.label} after {a.label}" for (a, x), (b, y) in pairwise(reported) if y <= x]
    missing = len(rows) - len(reported)
    status: Status = Status.INSUFFICIENT_DATA if len(reported) < LEAST_POINTS or missing else Status.PASS
    each = ", ".join(f"row {row.label} {value:.4g}" for row, value in reported)
    said = Messages([Message("rises.values", f"{check.column} less {check.over}, {with_unit(figure)}: {each}.")])
    if falls:
        status = Status.FAIL
        said.add_message("rises.falls", f"It does not rise in row {'; '.join(falls)}.")
    if missing:
        said.add_message("rises.no-values", f"Not decided for {missing} of {len(rows)} rows: no values that count.")
    elif len(reported) < LEAST_POINTS:
        said.add_message("rises.too-few-rows", f"A rise takes {LEAST_POINTS} rows.")
    figures = {row.name: rounded(value) for row, value in reported} | {"unit": unit_of(figure)}
    measured = ", ".join(f"{value:.4g}" for _, value in reported) or None
    values: Any = {"measured": measured, "expected": "each larger than the one before", "figures": figures}
    return CheckResult.of(check.name, check.judge, status, said.joined(), **values).failing_at({})


def judge_runs(
    cells: Cells, name: str = "each run's own checks", judge: str = "cells", holds: str = "hold their own checks"
) -> CheckResult:
    """Whether every run holds its own checks; runs that this machine or engine can't make do not count."""
    requested = [cell for cell in cells if cell.status != Status.UNSUPPORTED]
    apart = [cell for cell in requested if cell.standing != Status.PASS]
    held, more = len(requested) - len(apart), len(apart) - MOST_TOLD
    said = Messages([Message("runs.hold-their-checks", f"{held} of {len(requested)} runs {holds}.")])
    for cell in apart[:MOST_TOLD]:
        place = str(Place.of(cell)).replace("row", "Row", 1)
        said.add_message("run.apart", f"{place}: {cell.record.reason}")
    if more > 0:
        said.add_message("runs.and-more", f"And {more} more.")
    ignored = [place for place, runs in by_setting(requested).items() if seed_ignored(runs)]
    for row, column in ignored:
        said.add_message(
            "run.seed-ignored", f"Row {row} {column}: its runs lost packets by chance, and all the same: seed ignored."
        )
    parts = [*(cell.standing for cell in requested), *([Status.UNTRUSTED] if ignored else [])]
    status: Status = worst(parts) if parts else Status.UNSUPPORTED
    return CheckResult.of(name, judge, status, said.joined(), measured=held, expected=len(requested))
