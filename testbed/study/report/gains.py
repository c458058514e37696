"""Pictures of what one column gains over another, row by row: absolute and in percent, and both columns' values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter

from testbed.judge.figures import unit_of
from testbed.results.report import style
from testbed.results.report.plot import Plot, drawn
from testbed.study.kinds.table_result import RowSummary

_IN_MS = {"s": 1000.0, "ms": 1.0}
_GAIN, _PERCENT = style.SERIES_COLOURS[1], style.SERIES_COLOURS[0]
_WIDTH = 0.36
_LEAST_MS = 1.0
"""Where the logarithmic axis begins; what is less has no bar."""
_MOST_LEVEL = 8
"""How many labels of rows have their place side by side in the narrow picture."""
_MOST_MS = 10_000.0
"""Where it ends at least, as in the published figures, so that they can be laid side by side."""


@dataclass(frozen=True)
class Gain:
    """One row: milliseconds (or whatever the figure's unit is) and percent of the smaller."""

    absolute: float
    percent: float

    @classmethod
    def of(cls, larger: float | None, smaller: float | None, factor: float) -> Gain | None:
        """None where one is missing."""
        if larger is None or not smaller:
            return None
        return cls((larger - smaller) * factor, 100 * (larger / smaller - 1))


def pictures(asked: Sequence[Mapping[str, Any]], summaries: Sequence[RowSummary]) -> list[Plot]:
    """One for each of ``plots`` in a table of which a row was run; ``asked`` as ``table.json`` has them."""
    by_name = {summary.name: summary for summary in summaries}
    chosen = [(plot, [by_name[name] for name in plot["rows"] if name in by_name]) for plot in asked]
    return [_picture(plot, rows) for plot, rows in chosen if rows]


def _picture(asked: Mapping[str, Any], rows: Sequence[RowSummary]) -> Plot:
    column, over = asked["column"], asked["over"]
    measured = asked["figure"] or next(iter(rows[0].cells))
    factor = _IN_MS.get(unit_of(measured), 1.0)
    unit = "ms" if unit_of(measured) in _IN_MS else unit_of(measured)
    ours = [Gain.of(row.median(column, measured), row.median(over, measured), factor) for row in rows]
    theirs = [Gain.of(_known(row, column, measured), _known(row, over, measured), factor) for row in rows]
    description = (
        f"{asked['title']}: by how much {column} is above {over}, absolute and in percent of {over}, and both. "
        "Bars and lines are measured, marks published."
    )
    with style.canvas((9.6, 3.6)) as figure:
        left, right = figure.subplots(1, 2, width_ratios=(3, 2))
        _draw_gains(left, ours, theirs, unit)
        _draw_values(right, rows, (column, over), measured, factor)
        right.set_ylabel(f"{column} and {over}, {unit}")
        left.set_title(asked["title"], pad=26)
        for axes in (left, right):
            axes.set_xlabel(asked["x"])
            axes.set_xticks(range(len(rows)), [row.label for row in rows], fontsize=8)
            if len(rows) > _MOST_LEVEL and axes is right:
                axes.tick_params(axis="x", rotation=45)
            axes.grid(visible=False, axis="x")
            axes.set_xlim(-0.6, len(rows) - 0.4)
        return drawn(figure, asked["name"], description)


def _draw_gains(axes: Axes, ours: Sequence[Gain | None], theirs: Sequence[Gain | None], unit: str) -> None:
    """In the form of the published figures: absolute on a logarithmic axis, percent on another."""
    percent = axes.twinx()
    for place, (gain, known) in enumerate(zip(ours, theirs, strict=True)):
        if gain is not None:
            if gain.absolute > _LEAST_MS:
                axes.bar(place - _WIDTH / 2, gain.absolute, _WIDTH, color=_GAIN, label=f"_improvement, {unit}")
            percent.bar(place + _WIDTH / 2, gain.percent, _WIDTH, color=_PERCENT, label="_improvement, %")
        if known is not None:
            if known.absolute > _LEAST_MS:
                axes.plot(place - _WIDTH / 2, known.absolute, label=f"_published, {unit}", **style.published("D"))
            percent.plot(place + _WIDTH / 2, known.percent, label="_published, %", **style.published("o"))
    axes.set_yscale("log")
    highest_absolute = max((g.absolute for g in (*ours, *theirs) if g is not None), default=0.0)
    axes.set_ylim(_LEAST_MS, max(_MOST_MS, 2 * highest_absolute))
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_ylabel(f"improvement, {unit}")
    highest = max((g.percent for g in (*ours, *theirs) if g is not None), default=0.0)
    percent.set_ylim(0, max(50.0, 1.08 * highest))
    percent.set_ylabel("improvement, %")
    percent.grid(visible=False)
    axes.plot([], [], "s", markersize=7, color=_GAIN, label=f"{unit}")
    axes.plot([], [], "s", markersize=7, color=_PERCENT, label="%")
    if any(known is not None for known in theirs):
        axes.plot([], [], label=f"published, {unit}", **style.published("D"))
        axes.plot([], [], label="published, %", **style.published("o"))
    axes.legend(ncols=4, **style.LEGEND)


def _draw_values(axes: Axes, rows: Sequence[RowSummary], columns: Sequence[str], measured: str, factor: float) -> None:
    for number, column in enumerate(columns):
        values = [row.median(column, measured) for row in rows]
        points = [(place, value * factor) for place, value in enumerate(values) if value is not None]
        colour = (_GAIN, _PERCENT)[number]
        axes.plot(
            [x for x, _ in points],
            [y for _, y in points],
            color=colour,
            label=column,
            linestyle=style.LINE_STYLES[number],
        )
        known = [(place, _known(row, column, measured)) for place, row in enumerate(rows)]
        marks = [(place, value * factor) for place, value in known if value is not None]
        name = f"_{column}, published"
        axes.plot([x for x, _ in marks], [y for _, y in marks], label=name, **style.published("Do"[number]))
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.legend(ncols=2, **style.LEGEND)


def _known(row: RowSummary, column: str, figure: str) -> float | None:
    return next((k.value for k in row.known if (k.column, k.figure) == (column, figure)), None)
