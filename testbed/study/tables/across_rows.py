"""Checks of a table that look at several rows at once: a row over another, a line through all cells, a rise."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from testbed.judge import intervals
from testbed.judge.checks.result import CheckResult, rounded
from testbed.judge.figures import unit_of, with_unit
from testbed.judge.status import Status
from testbed.message import Message
from testbed.series.line import Line
from testbed.study.tables.how_sure import Behind, how_sure, observations
from testbed.study.tables.model import RisesCheck, RowRatioCheck, SlopeCheck
from testbed.study.tables.outcome import Spread
from testbed.study.tables.summary import RowSummary

LEAST_POINTS = 3
"""Two points lie on a line whatever they are."""


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
