"""Judges a table: each of its checks over the medians and their intervals, and the verdict over all.

Where three runs or more count, it is the interval of the median (or of the ratio of two) that has to lie inside what
is asked: a check fails where one lies outside, and is inconclusive where one lies partly inside. The reason says which
level so many runs give it. Fewer runs are judged by their median, and runs in virtual time that are one observation by
its value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from pydantic import Field, model_validator

from testbed.judge import intervals
from testbed.judge.checks.parameters import CheckName
from testbed.judge.checks.result import CheckResult, Named, Trust, Verdict, rounded
from testbed.judge.expected_failures import ExpectedFailure
from testbed.judge.figures import unit_of, with_unit
from testbed.judge.intervals import Interval
from testbed.judge.status import BEST_FIRST, Status, summary_of, verdict_of, worst
from testbed.message import InvalidValue, Message
from testbed.plan.default_engine import DEFAULT
from testbed.plan.engines import named
from testbed.scenario.quantities import Fraction
from testbed.scenario.section import Section
from testbed.series.line import Line
from testbed.study.checks.each_run import EachRunCheck, FigureName, OfFigure, judge_each_run
from testbed.study.kinds.table_result import RowSummary, Spread, place_of
from testbed.study.result import CellResult

if TYPE_CHECKING:
    from testbed.study.kinds.table_file import Table

MOST_TOLD = 20
"""So many runs that do not hold are named."""

LEAST_POINTS = 3
"""Two points lie on a line whatever they are."""


class RatioCheck(OfFigure):
    """In each row, ``column`` is ``min``..``max`` times ``over``."""

    judge: Literal["ratio"]
    column: str
    over: str
    min: float = 0.0
    max: float | None = None


class DifferenceCheck(OfFigure):
    """In each row, ``column`` less ``over`` is ``min``..``max``, in the figure's unit."""

    judge: Literal["difference"]
    column: str
    over: str
    min: float
    max: float


class BoundCheck(OfFigure):
    """In each row, the columns are ``min``..``max`` of the row's bound."""

    judge: Literal["bound"]
    columns: list[str] = Field(min_length=1)
    min: float = 0.0
    max: float | None = None


class WithinCheck(OfFigure):
    """In each row, the columns' figure is ``min``..``max``."""

    judge: Literal["within"]
    columns: list[str] = Field(min_length=1)
    min: float | None = None
    max: float | None = None

    @model_validator(mode="after")
    def _a_limit(self) -> WithinCheck:
        if self.min is None and self.max is None:
            raise InvalidValue("table.no-bounds", "give min or max, or both")
        return self


class KnownCheck(OfFigure):
    """In each row, the columns are within ``tolerance`` of at least one known value."""

    judge: Literal["known"]
    columns: list[str] = Field(min_length=1)
    tolerance: Fraction
    cpu_time: bool = False
    """Whether the known values contain a machine's CPU time: they are then not asked if CPU time costs nothing."""
    least_n: int = Field(1, ge=1)
    """Medians of fewer runs leave the check open: if packets are lost by chance, one run says little."""


class RowRatioCheck(Section):
    """In each column, row ``row`` is ``min``..``max`` times row ``over``."""

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


class SlopeCheck(OfFigure):
    """Over all cells of the rows and columns, the figure rises by ``min``..``max`` per unit of the figure ``x``.

    The line is fitted by least squares, with an intercept.
    """

    judge: Literal["slope"]
    x: FigureName
    columns: list[str] = Field(min_length=1)
    min: float
    max: float
    least_r2: float = Field(0.0, ge=0, le=1)
    """The share of the figure's variance that the line must explain."""


class RisesCheck(OfFigure):
    """From row to row, in the order of the table, ``column`` less ``over`` becomes larger. Judged by the medians."""

    judge: Literal["rises"]
    column: str
    over: str


TableCheck = Annotated[
    RatioCheck
    | DifferenceCheck
    | BoundCheck
    | WithinCheck
    | KnownCheck
    | RowRatioCheck
    | RisesCheck
    | SlopeCheck
    | EachRunCheck,
    Field(discriminator="judge"),
]


Place = tuple[RowSummary, str]
"""A row and a column that a check judges."""


class Measured(NamedTuple):
    """The figure of a place, its interval where enough runs count, how both lie beside what is asked, in words, and
    the spreads that it is made of."""

    value: float
    interval: Interval | None
    found: Status
    text: str
    behind: Sequence[Spread]


def judge_table(
    table: Table,
    run: str,
    summaries: Sequence[RowSummary],
    columns: Sequence[str],
    cells: Sequence[CellResult],
    *,
    partial: bool,
    engine: str = DEFAULT,
    expected: Mapping[str, ExpectedFailure] | None = None,
) -> Verdict:
    """The verdict of a table. ``cells`` has every cell that was asked for, also those that are missing.
    ``partial``: a quick one or a selection, which may leave checks open. ``expected`` are expected failures, by
    check."""
    known = {} if expected is None else expected
    results = [judge_one(check, summaries, columns, cells, engine, known.get(check.name)) for check in table.checks]
    if not _own_checks_are_judged(table.checks, cells):
        results.insert(0, judge_runs(cells))
    return verdict_over(results, cells, table.name, run, columns, partial=partial)


def verdict_over(
    results: Sequence[CheckResult],
    cells: Sequence[CellResult],
    name: str,
    run: str,
    columns: Sequence[str],
    *,
    partial: bool,
) -> Verdict:
    """Of what the checks found, and of the runs that they are about."""
    untrusted = [o for o in cells if o.status == Status.UNTRUSTED]
    trust = Trust.of(
        Message(
            "run.untrusted",
            "row {row} {column} #{repetition}, {attempts} attempts: {why}",
            **place_of(o),
            attempts=o.attempts,
            why=o.record.reason,
        )
        for o in untrusted
    )
    parts = [*(_part(result) for result in results), *trust.parts]
    return Verdict(
        scenario=name,
        run=run,
        verdict=verdict_of(parts, may_stay_open=partial),
        summary=summary_of((result.name, result.word) for result in results),
        checks=list(results),
        trust=trust,
        duration_s=None,
        policy=", ".join(columns),
    )


def _part(result: CheckResult) -> Status:
    """Where runs were judged by themselves and disagree, one of them failed: no shorter form leaves that open."""
    return Status.FAIL if result.judge == "each_run" and result.status == Status.INCONCLUSIVE else result.part


def _own_checks_are_judged(checks: Sequence[TableCheck], cells: Sequence[CellResult]) -> bool:
    """Whether the table judges every check of its runs over all of them, so that it need not ask each run again."""
    judged = {check.check for check in checks if isinstance(check, EachRunCheck) and check.rows is None}
    return bool(judged) and all(set(cell.record.checks) <= judged for cell in cells)


def judge_one(
    check: TableCheck,
    summaries: Sequence[RowSummary],
    columns: Sequence[str],
    cells: Sequence[CellResult],
    engine: str = DEFAULT,
    expected: ExpectedFailure | None = None,
) -> CheckResult:
    """One check over the rows and columns that were run. A cell of them that failed its own checks, broke down, is
    missing or can't be trusted is a part of it: the worst of the cells and of what their figures say decides. Only the
    figures may fail as ``expected``, never a cell."""
    if isinstance(check, KnownCheck) and check.cpu_time and named(engine).virtual_time:
        said = Message(
            "known.of-a-machine",
            "Not asked of a network-only model (--engine {engine}: one core, CPU free): the known values contain the "
            "CPU time of the machine that they are from.",
            engine=engine,
        )
        return CheckResult.of(check, Status.SKIPPED, said)
    cells = cells_of(check, cells)
    if isinstance(check, EachRunCheck):
        return judge_each_run(check, cells, expected)
    result = _by_figures(check, summaries, columns).expected_to_fail(expected)
    apart = [cell for cell in cells if cell.standing != Status.PASS]
    if not apart:
        return result
    status = worst([result.part, *(cell.standing for cell in apart)])
    told = [cell for cell in apart if cell.standing == status] or apart
    first = told[0]
    said = Message(
        "cells.do-not-count",
        "{apart} of {runs} runs that it is about don't count: row {row} {column} #{repetition}: {why}",
        apart=len(apart),
        runs=len(cells),
        **place_of(first),
        why=first.record.reason,
    )
    return result.saying(said.followed_by(result.said), status=status, outcome=None)


def cells_of(check: TableCheck, cells: Sequence[CellResult]) -> list[CellResult]:
    """The cells that a check is about: those of its rows, in its columns."""
    if isinstance(check, EachRunCheck):
        columns = None
    elif isinstance(check, (RatioCheck, DifferenceCheck, RisesCheck)):
        columns = [check.column, check.over]
    else:
        columns = check.columns
    return [
        cell
        for cell in cells
        if (check.rows is None or cell.at["row"] in check.rows) and (columns is None or cell.at["column"] in columns)
    ]


def _by_figures(check: TableCheck, summaries: Sequence[RowSummary], columns: Sequence[str]) -> CheckResult:
    rows = [s for s in summaries if check.rows is None or s.name in check.rows]
    if isinstance(check, EachRunCheck):
        raise TypeError("the runs judge it themselves")
    if isinstance(check, (SlopeCheck, RowRatioCheck, RisesCheck)):
        first_figure = next(iter(summaries[0].cells), "") if summaries else ""
        if isinstance(check, RisesCheck):
            return judge_rises(check, rows, first_figure)
        if isinstance(check, SlopeCheck):
            return judge_slope(check, rows, first_figure)
        return judge_row_ratio(check, rows, first_figure)
    return _judge_places(check, rows, columns)


def _judge_places(
    check: RatioCheck | DifferenceCheck | BoundCheck | WithinCheck | KnownCheck,
    rows: Sequence[RowSummary],
    columns: Sequence[str],
) -> CheckResult:
    """A check that looks at one row at a time."""
    wanted = [check.column] if isinstance(check, (RatioCheck, DifferenceCheck)) else check.columns
    needed = [*wanted, *([check.over] if isinstance(check, (RatioCheck, DifferenceCheck)) else [])]
    absent = [column for column in needed if column not in columns]
    places = [(row, column) for row in rows for column in wanted]
    measure = _MEASURES[check.judge]
    told: dict[Status, list[str]] = {Status.FAIL: [], Status.INCONCLUSIVE: [], Status.PASS: []}
    figures: dict[str, Any] = {}
    found_intervals: dict[str, list[float]] = {}
    failing: dict[str, tuple[float, Interval | None]] = {}
    behind: dict[str, Behind] = {}
    open_ = 0
    for place in places:
        measured = measure(check, place)
        if measured is None:
            open_ += 1
            continue
        name = f"{place[0].name} {place[1]}"
        figures[name] = rounded(measured.value)
        if measured.interval is not None:
            found_intervals[name] = [rounded(end) for end in measured.interval]
        behind[name] = measured.interval, measured.behind
        told[measured.found].append(measured.text)
        if measured.found == Status.FAIL:
            failing[name] = _decisive(check, measured)
    if found_intervals:
        figures["intervals"] = found_intervals
    figures["observations"] = observations(behind)
    if isinstance(check, KnownCheck):  # its figures are errors; what was measured stands beside them
        spreads = {f"{row.name} {column}": row.spread(column, check.figure) for row, column in places}
        figures["medians"] = {name: rounded(spreads[name].median or 0) for name in behind}
        figures["median_intervals"] = {name: list(spreads[name].interval or ()) for name in found_intervals}
    status: Status = Status.PASS
    if told[Status.FAIL]:
        status = Status.FAIL
    elif told[Status.INCONCLUSIVE]:
        status = Status.INCONCLUSIVE
    elif open_ or not told[Status.PASS]:
        status = Status.INSUFFICIENT_DATA
    said = [_told(found, "; ".join(told[found])) for found in told if told[found]]
    said += how_sure(behind)
    if absent:
        said.append(Message("cells.no-column", "Not decided: there is no column {columns}.", columns=", ".join(absent)))
    elif open_ or not places:
        said.append(
            Message(
                "cells.no-value",
                "Not decided for {open} of {cells} cells: no value that counts, too few, or 0.",
                open=open_ or "all",
                cells=len(places),
            )
        )
    return CheckResult.of(
        check,
        status,
        said[0].followed_by(*said[1:]),
        measured=f"{len(told[Status.PASS])} of {len(places)}",
        expected=f"{len(places)} of {len(places)}",
        figures=figures,
    ).failing_at(failing)


def _decisive(check: TableCheck, measured: Measured) -> tuple[float, Interval | None]:
    """What was measured at a place; of a check against known values that is not what it judges, which is an error."""
    if isinstance(check, KnownCheck):
        spread = measured.behind[0]
        return rounded(spread.median or 0), spread.interval
    return rounded(measured.value), measured.interval


def _told(found: Status, places: str) -> Message:
    if found == Status.FAIL:
        return Message("cells.outside", "Not: {places}.", places=places)
    if found == Status.INCONCLUSIVE:
        return Message("cells.inconclusive", "Inconclusive: {places}.", places=places)
    return Message("cells.inside", "Holds: {places}.", places=places)


def _ratio(check: RatioCheck, place: Place) -> Measured | None:
    row, column = place
    one, other = row.spread(column, check.figure), row.spread(check.over, check.figure)
    if one.median is None or not other.median or other.may_be_0:
        return None
    return _beside(
        one.median / other.median,
        one.over(other),
        check.min,
        check.max,
        lambda value: f"{value:.2f}×",
        f"row {row.label}",
        one,
        other,
    )


def _difference(check: DifferenceCheck, place: Place) -> Measured | None:
    row, column = place
    one, other = row.spread(column, check.figure), row.spread(check.over, check.figure)
    if one.median is None or other.median is None:
        return None
    unit = unit_of(check.figure or next(iter(row.cells)))
    return _beside(
        one.median - other.median,
        one.less(other),
        check.min,
        check.max,
        lambda value: f"{value:.4g} {unit}".rstrip(),
        f"row {row.label}",
        one,
        other,
    )


def _bound(check: BoundCheck, place: Place) -> Measured | None:
    row, column = place
    spread, bound = row.spread(column, check.figure), row.bounds.get(check.figure or next(iter(row.cells)))
    if spread.median is None or not bound:
        return None
    return _beside(
        spread.median / bound,
        spread.interval.over(bound) if spread.interval else None,
        check.min,
        check.max,
        lambda value: f"{value:.1%}",
        f"row {row.label} {column}",
        spread,
    )


def _known(check: KnownCheck, place: Place) -> Measured | None:
    row, column = place
    figure = check.figure or next(iter(row.cells))
    spread = row.spread(column, figure)
    median = spread.median
    known = [k for k in row.known if (k.column, k.figure) == (column, figure)]
    if median is None or not known or spread.n < check.least_n:
        return None
    nearest = min(known, key=lambda k: abs(median / k.value - 1))
    off: dict[str, Measured] = {}
    for k in known:
        off[k.by] = _beside(
            median / k.value - 1,
            spread.interval.over(k.value).less(1) if spread.interval else None,
            -check.tolerance,
            check.tolerance,
            lambda value: f"{value:+.0%}",
            "",
            spread,
        )
    # Near any of them is near enough.
    best = min((measured.found for measured in off.values()), key=BEST_FIRST.index)
    if best == Status.PASS:
        where = f"of {' and '.join(by for by, measured in off.items() if measured.found == best)}"
    else:
        where = ", ".join(f"{measured.text} of {by}" for by, measured in off.items())
    return off[nearest.by]._replace(found=best, text=f"row {row.label} {column} {where}")


def _within(check: WithinCheck, place: Place) -> Measured | None:
    row, column = place
    spread = row.spread(column, check.figure)
    if spread.median is None:
        return None
    unit = unit_of(check.figure or next(iter(row.cells)))
    return _beside(
        spread.median,
        spread.interval,
        float("-inf") if check.min is None else check.min,
        check.max,
        lambda value: f"{value:.6g} {unit}".rstrip(),
        f"row {row.label} {column}",
        spread,
    )


def _beside(
    value: float,
    interval: Interval | None,
    low: float,
    high: float | None,
    words: Callable[[float], str],
    what: str,
    *behind: Spread,
) -> Measured:
    text = f"{what} {words(value)}".strip()
    text += f" [{words(interval.low)}, {words(interval.high)}]" if interval else ""
    return Measured(value, interval, intervals.against(value, interval, low, high), text, behind)


_MEASURES: Mapping[str, Callable[[Any, Place], Measured | None]] = {
    "ratio": _ratio,
    "difference": _difference,
    "bound": _bound,
    "within": _within,
    "known": _known,
}
"""None without values that count."""


def judge_runs(
    cells: Sequence[CellResult],
    name: str = "each run's own checks",
    judge: str = "cells",
    holds: str = "hold their own checks",
) -> CheckResult:
    """Whether every run holds what is asked of it; what this machine or engine can't run is not asked."""
    asked = [o for o in cells if o.status != Status.UNSUPPORTED]
    apart = [o for o in asked if o.standing != Status.PASS]
    said = Message(
        "runs.hold-their-checks",
        "{held} of {runs} runs {holds}.",
        held=len(asked) - len(apart),
        runs=len(asked),
        holds=holds,
    ).followed_by(
        *(
            Message("run.apart", "Row {row} {column} #{repetition}: {why}", **place_of(o), why=o.record.reason)
            for o in apart[:MOST_TOLD]
        ),
        *(
            [Message("runs.and-more", "And {more} more.", more=len(apart) - MOST_TOLD)]
            if len(apart) > MOST_TOLD
            else []
        ),
    )
    status: Status = worst(o.standing for o in asked) if asked else Status.UNSUPPORTED
    return CheckResult.of(Named(name, judge), status, said, measured=len(asked) - len(apart), expected=len(asked))


def fit(check: SlopeCheck, rows: Sequence[RowSummary], figure: str) -> tuple[Line, list[tuple[float, float]]] | None:
    """The line through the cells' medians, and these; None with fewer than three, or with all x alike."""
    pairs = [(row.median(column, check.x), row.median(column, figure)) for row in rows for column in check.columns]
    points = [(x, y) for x, y in pairs if x is not None and y is not None]
    if len(points) < LEAST_POINTS or len({x for x, _ in points}) == 1:
        return None
    return Line.through(*zip(*points, strict=True)), points


def judge_slope(check: SlopeCheck, rows: Sequence[RowSummary], first_figure: str) -> CheckResult:
    """The fitted slope against what is asked; open where there are too few cells."""
    figure = check.figure or first_figure
    wanted = f"{check.min:g} to {check.max:g}"
    fitted = fit(check, rows, figure)
    if fitted is None:
        said = Message(
            "slope.too-few-cells",
            "Not decided: a line takes {least} cells with values, of different {x}.",
            least=LEAST_POINTS,
            x=check.x,
        )
        return CheckResult.of(check, Status.INSUFFICIENT_DATA, said, expected=wanted)
    line, points = fitted
    inside = check.min <= line.slope <= check.max and line.r2 >= check.least_r2
    r2_asked = f" (at least {check.least_r2:g})" if check.least_r2 else ""
    return CheckResult.of(
        check,
        Status.PASS if inside else Status.FAIL,
        Message(
            "slope.fitted",
            "{figure} = {slope:.4f} × ({x}) {intercept:+.4f} through {cells} cells, which explains {r2:.4f} of the "
            "variance{r2_asked}; asked {wanted}.",
            figure=with_unit(figure),
            slope=line.slope,
            x=with_unit(check.x),
            intercept=line.intercept,
            cells=len(points),
            r2=line.r2,
            r2_asked=r2_asked,
            wanted=wanted,
        ),
        measured=rounded(line.slope),
        expected=wanted,
        figures={
            "slope": rounded(line.slope),
            "intercept": rounded(line.intercept),
            "r2": rounded(line.r2),
            "points": [[rounded(x), rounded(y)] for x, y in points],
            "x": check.x,
            "figure": figure,
        },
    )


def judge_row_ratio(check: RowRatioCheck, rows: Sequence[RowSummary], first_figure: str) -> CheckResult:
    """One row's medians over another's, in each column; open where a value is missing.

    Where three runs or more of both count it is the ratio's interval that has to lie inside what is asked. What the
    second row may be 0 in says nothing.
    """
    figure = check.figure or first_figure
    by_name = {row.name: row for row in rows}
    none = Spread.of([])
    ratios: dict[str, float] = {}
    found_intervals: dict[str, list[float]] = {}
    founds: dict[str, Status] = {}
    told: list[str] = []
    behind: dict[str, Behind] = {}
    for column in check.columns:
        one, other = (
            by_name[name].spread(column, figure) if name in by_name else none for name in (check.row, check.over)
        )
        if one.median is None or not other.median or other.may_be_0:
            continue
        ratios[column] = one.median / other.median
        interval = one.over(other)
        behind[column] = interval, (one, other)
        if interval is not None:
            found_intervals[column] = [rounded(end) for end in interval]
        founds[column] = intervals.against(ratios[column], interval, check.min, check.max)
        told.append(
            f"{column} {ratios[column]:.3f}" + (f" [{interval.low:.3f}, {interval.high:.3f}]" if interval else "")
        )
    missing = [column for column in check.columns if column not in ratios]
    said = (
        [
            Message(
                "rows.ratio", "Row {row} over row {over}: {each}.", row=check.row, over=check.over, each=", ".join(told)
            )
        ]
        if told
        else []
    )
    said += how_sure(behind)
    if missing:
        said.append(
            Message(
                "rows.no-values",
                "Not decided: no values that count, or 0, in column {columns}.",
                columns=", ".join(missing),
            )
        )
    status: Status = Status.INSUFFICIENT_DATA if missing else Status.PASS
    if Status.FAIL in founds.values():
        status = Status.FAIL
    elif Status.INCONCLUSIVE in founds.values():
        status = Status.INCONCLUSIVE
    return CheckResult.of(
        check,
        status,
        said[0].followed_by(*said[1:]),
        measured=rounded(next(iter(ratios.values()))) if len(ratios) == 1 else ", ".join(told) or None,
        expected=f"{check.min:g} to {check.max:g}" if check.max is not None else f"at least {check.min:g}",
        figures={column: rounded(ratio) for column, ratio in ratios.items()}
        | {"observations": observations(behind)}
        | ({"intervals": found_intervals} if found_intervals else {}),
    ).failing_at(
        {column: (rounded(ratios[column]), behind[column][0]) for column in founds if founds[column] == Status.FAIL}
    )


def judge_rises(check: RisesCheck, rows: Sequence[RowSummary], first_figure: str) -> CheckResult:
    """Whether the difference of two columns' medians is larger in each row than in the one before."""
    figure = check.figure or first_figure
    told: list[tuple[RowSummary, float]] = []
    for row in rows:
        one, other = row.median(check.column, figure), row.median(check.over, figure)
        if one is not None and other is not None:
            told.append((row, one - other))
    falls = [f"{b.label} after {a.label}" for (a, x), (b, y) in pairwise(told) if y <= x]
    missing = len(rows) - len(told)
    status: Status = Status.INSUFFICIENT_DATA if len(told) < LEAST_POINTS or missing else Status.PASS
    if falls:
        status = Status.FAIL
    each = ", ".join(f"row {row.label} {value:.4g}" for row, value in told)
    said = Message(
        "rises.values",
        "{column} less {over}, {figure}: {each}.",
        column=check.column,
        over=check.over,
        figure=with_unit(figure),
        each=each,
    )
    if falls:
        said = said.followed_by(Message("rises.falls", "It does not rise in row {falls}.", falls="; ".join(falls)))
    if missing:
        said = said.followed_by(
            Message(
                "rises.no-values",
                "Not decided for {missing} of {rows} rows: no values that count.",
                missing=missing,
                rows=len(rows),
            )
        )
    elif len(told) < LEAST_POINTS:
        said = said.followed_by(Message("rises.too-few-rows", "A rise takes {least} rows.", least=LEAST_POINTS))
    return CheckResult.of(
        check,
        status,
        said,
        measured=", ".join(f"{value:.4g}" for _, value in told) or None,
        expected="each larger than the one before",
        figures={row.name: rounded(value) for row, value in told} | {"unit": unit_of(figure)},
    ).failing_at({})


Behind = tuple[Interval | None, Sequence[Spread]]
"""The interval that decides at a place, and the spreads that its value is made of."""


def how_sure(places: Mapping[str, Behind]) -> list[Message]:
    """In sentences, each of which names its places where there are others; none without places."""
    by_interval = [interval for interval, _ in places.values() if interval]
    one = [name for name, (interval, spreads) in places.items() if not interval and all(s.is_one for s in spreads)]
    few = [name for name, (interval, _) in places.items() if not interval and name not in one]
    said = []
    if by_interval:
        two = any(len(spreads) > 1 for interval, spreads in places.values() if interval)
        levels = intervals.told(interval.level for interval in by_interval)
        said.append(
            Message("sure.of-two", "Decided by intervals of at least {levels}.", levels=levels)
            if two
            else Message("sure.by-intervals", "Decided by {levels} intervals.", levels=levels)
        )
    if one:
        n = max(spread.n for name in one for spread in places[name][1])
        said.append(
            Message(
                "sure.one-observation",
                "{runs} runs, one observation{which}: nothing is left to chance, its value decides.",
                runs=n,
                which=_which(one, places),
            )
        )
    if few:
        said.append(
            Message(
                "sure.too-few",
                "Judged by the median alone, of fewer than {least} runs, which say nothing of the spread{which}.",
                least=intervals.LEAST_N,
                which=_which(few, places),
            )
        )
    return said


def observations(places: Mapping[str, Behind]) -> int:
    """The least number of observations behind any place; of two spreads the larger, as one without chance adds none."""
    return min((max(len(spread.values) for spread in spreads) for _, spreads in places.values()), default=0)


def _which(names: Sequence[str], places: Mapping[str, Behind]) -> str:
    return f" ({', '.join(names)})" if len(names) < len(places) else ""
