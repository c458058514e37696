"""Judges a table: each of its checks over the medians and their intervals, and the verdict over all.

Where three runs or more count, it is the 95% interval of the median (or of the ratio of two) that has to lie inside
what is asked: a check fails where one lies outside, and is undecided where one lies partly inside. Fewer runs are
judged by their median.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from testbed import intervals
from testbed.checks.result import CheckResult, Status, Trust, Verdict, rounded
from testbed.figures import unit_of
from testbed.intervals import Found, Interval
from testbed.matrix.across_rows import judge_rises, judge_row_ratio, judge_slope
from testbed.matrix.each_run import judge_each_run
from testbed.matrix.model import (
    BoundCheck,
    DifferenceCheck,
    EachRunCheck,
    KnownCheck,
    RatioCheck,
    RisesCheck,
    RowRatioCheck,
    SlopeCheck,
    Table,
    TableCheck,
    WithinCheck,
)
from testbed.matrix.outcome import Outcome
from testbed.matrix.summary import RowSummary

Place = tuple[RowSummary, str]
"""A row and a column that a check judges."""


class Measured(NamedTuple):
    """The figure of a place, its interval where enough runs count, how both lie beside what is asked, and in words."""

    value: float
    interval: Interval | None
    found: Found
    text: str


CPU_FREE = ("sim", "vkernel")
"""Engines whose model is of the network only: what programs compute takes no time there."""


def judge_table(
    table: Table, run: str, summaries: Sequence[RowSummary], columns: Sequence[str], outcomes: Sequence[Outcome],
    *, partial: bool, engine: str = "mininet",
) -> Verdict:  # fmt: skip
    """The verdict of a table. ``partial``: a quick one or a selection, which may leave checks open."""
    results = [judge_one(check, summaries, columns, outcomes, engine) for check in table.checks]
    if not all(isinstance(check, EachRunCheck) for check in table.checks):
        results.insert(0, _cells(outcomes))
    trust = _trust(outcomes)
    asked = [result for result in results if result.status != "not-asked"]
    statuses = {result.status for result in asked}
    allowed = {"pass", "not-covered", "undecided"} if partial else {"pass"}
    verdict = "pass" if "pass" in statuses and statuses <= allowed else "fail"
    held = sum(result.status == "pass" for result in results)
    parts = [f"{held} of {len(asked)} checks hold"]
    for status, words in (
        ("fail", "fails"), ("error", "can't be judged"), ("undecided", "is undecided"),
        ("not-covered", "is not covered"),
    ):  # fmt: skip
        parts += [f"“{result.name}” {words}" for result in results if result.status == status]
    return Verdict(
        scenario=table.name,
        run=run,
        verdict=verdict if trust.trusted else "untrusted",
        summary="; ".join(parts) + ".",
        checks=results,
        trust=trust,
        duration_s=None,
        policy=", ".join(columns),
    )


def judge_one(
    check: TableCheck,
    summaries: Sequence[RowSummary],
    columns: Sequence[str],
    outcomes: Sequence[Outcome] = (),
    engine: str = "mininet",
) -> CheckResult:
    """One check over the rows and columns that were run; only one of the runs' own checks needs their outcomes."""
    if isinstance(check, KnownCheck) and check.cpu_time and engine in CPU_FREE:
        reason = (
            f"Not asked of a network-only model (--engine {engine}: one core, CPU free): the known values contain the "
            "CPU time of the machine that they are from."
        )
        return CheckResult(name=check.name, judge=check.judge, status="not-asked", reason=reason)
    if isinstance(check, EachRunCheck):
        return judge_each_run(check, [o for o in outcomes if check.rows is None or o.row in check.rows])
    rows = [s for s in summaries if check.rows is None or s.name in check.rows]
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
    told: dict[Found, list[str]] = {"outside": [], "straddles": [], "inside": []}
    figures: dict[str, Any] = {}
    found_intervals: dict[str, list[float]] = {}
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
        told[measured.found].append(measured.text)
    by_median = [name for name in figures if name not in found_intervals]
    if found_intervals:
        figures["intervals"] = found_intervals
    if isinstance(check, KnownCheck):  # its figures are errors; what was measured stands beside them
        spreads = {f"{row.name} {column}": row.spread(column, check.figure) for row, column in places}
        figures["medians"] = {
            name: rounded(spreads[name].median or 0) for name in [*by_median, *found_intervals]
        }
        figures["median_intervals"] = {name: list(spreads[name].interval or ()) for name in found_intervals}
    status: Status = "pass"
    if told["outside"]:
        status = "fail"
    elif told["straddles"]:
        status = "undecided"
    elif open_ or not told["inside"]:
        status = "not-covered"
    reason = "".join(f"{words}: {'; '.join(told[found])}. " for found, words in _TOLD.items() if told[found])
    if by_median:
        which = f": {', '.join(by_median)}" if found_intervals else ""
        reason += f"Judged by the median alone, of fewer than {intervals.LEAST_N} runs{which}. "
    if absent:
        reason += f"Not decided: there is no column {', '.join(absent)}."
    elif open_ or not places:
        reason += (
            f"Not decided for {open_ or 'all'} of {len(places)} cells: no value that counts, or too few."
        )
    return CheckResult(
        name=check.name,
        judge=check.judge,
        status=status,
        measured=f"{len(told['inside'])} of {len(places)}",
        expected=f"{len(places)} of {len(places)}",
        reason=reason.strip(),
        figures=figures,
    )


_TOLD: Mapping[Found, str] = {"outside": "Not", "straddles": "Undecided", "inside": "Holds"}


def _ratio(check: RatioCheck, place: Place) -> Measured | None:
    row, column = place
    one, other = row.median(column, check.figure), row.median(check.over, check.figure)
    if one is None or not other:
        return None
    interval = intervals.of_ratio(
        row.spread(column, check.figure).values, row.spread(check.over, check.figure).values
    )
    return _beside(
        one / other, interval, check.min, check.max, lambda value: f"{value:.2f}×", f"row {row.label}"
    )


def _difference(check: DifferenceCheck, place: Place) -> Measured | None:
    row, column = place
    one, other = row.spread(column, check.figure), row.spread(check.over, check.figure)
    if one.median is None or other.median is None:
        return None
    unit = unit_of(check.figure or next(iter(row.cells)))
    return _beside(
        one.median - other.median,
        intervals.of_difference(one.values, other.values),
        check.min,
        check.max,
        lambda value: f"{value:.4g} {unit}".rstrip(),
        f"row {row.label}",
    )


def _bound(check: BoundCheck, place: Place) -> Measured | None:
    row, column = place
    median, bound = row.median(column, check.figure), row.bounds.get(check.figure or next(iter(row.cells)))
    if median is None or not bound:
        return None
    found = row.spread(column, check.figure).interval
    interval = Interval(*(end / bound for end in found)) if found else None
    return _beside(
        median / bound,
        interval,
        check.min,
        check.max,
        lambda value: f"{value:.1%}",
        f"row {row.label} {column}",
    )


def _known(check: KnownCheck, place: Place) -> Measured | None:
    row, column = place
    median, figure = row.median(column, check.figure), check.figure or next(iter(row.cells))
    known = [k for k in row.known if (k.column, k.figure) == (column, figure)]
    if median is None or not known or row.spread(column, figure).n < check.least_n:
        return None
    nearest = min(known, key=lambda k: abs(median / k.value - 1))
    spread = row.spread(column, figure).interval
    off: dict[str, Measured] = {}
    for k in known:
        interval = Interval(*(end / k.value - 1 for end in spread)) if spread else None
        off[k.by] = _beside(
            median / k.value - 1,
            interval,
            -check.tolerance,
            check.tolerance,
            lambda value: f"{value:+.0%}",
            "",
        )
    # Near any of them is near enough.
    best: Found = min(
        (measured.found for measured in off.values()), key=["inside", "straddles", "outside"].index
    )
    if best == "inside":
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
        Interval(*spread.interval) if spread.interval else None,
        float("-inf") if check.min is None else check.min,
        check.max,
        lambda value: f"{value:.6g} {unit}".rstrip(),
        f"row {row.label} {column}",
    )


def _beside(
    value: float,
    interval: Interval | None,
    low: float,
    high: float | None,
    words: Callable[[float], str],
    what: str,
) -> Measured:
    text = f"{what} {words(value)}".strip()
    if interval is None:
        return Measured(value, None, Interval(value, value).against(low, high), text)
    text += f" [{words(interval.low)}, {words(interval.high)}]"
    return Measured(value, interval, interval.against(low, high), text)


_MEASURES: Mapping[str, Callable[[Any, Place], Measured | None]] = {
    "ratio": _ratio,
    "difference": _difference,
    "bound": _bound,
    "within": _within,
    "known": _known,
}
"""None without values that count."""


def _cells(outcomes: Sequence[Outcome]) -> CheckResult:
    """Whether every run holds what its own scenario asks."""
    judged = [o for o in outcomes if o.verdict in ("pass", "fail")]
    failed = [o for o in judged if o.verdict == "fail"]
    reason = f"{len(judged) - len(failed)} of {len(judged)} trusted runs hold their own checks."
    reason += "".join(f" Row {o.row} {o.column} #{o.repetition}: {o.why}" for o in failed)
    status: Status = "fail" if failed else "pass" if judged else "not-covered"
    return CheckResult(
        name="each run's own checks", judge="cells", status=status,
        measured=len(judged) - len(failed), expected=len(judged), reason=reason,
    )  # fmt: skip


def _trust(outcomes: Sequence[Outcome]) -> Trust:
    untrusted = [o for o in outcomes if o.verdict == "untrusted"]
    reasons = [f"row {o.row} {o.column} #{o.repetition}, {o.attempts} attempts: {o.why}" for o in untrusted]
    return Trust(trusted=not untrusted, reasons=reasons)
