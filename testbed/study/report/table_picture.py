"""The picture of a table: a bar for each row and column, with the bound and what others measured drawn in; of a large
one a line for each row, with a mark for each column."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.ticker import EngFormatter

from testbed.judge import intervals
from testbed.judge.figures import BETTER, title_of, unit_of, with_unit
from testbed.results.report import style
from testbed.results.report.plot import Plot, drawn
from testbed.study.kinds.table_result import RowSummary, Spread

MOST_RATIO = 50
"""Of the largest value to the smallest, on an axis that is not logarithmic."""
MOST_BARS = 60
"""Beyond, bars are too narrow to be read."""
_MARKERS = ("D", "o", "s", "^")
_OF_COLUMNS = ("o", "s", "D", "^", "v", "P", "X", "*")
_A_LINE = 4
"""How many columns' names stand side by side over a large table's picture."""


def pictures(summaries: Sequence[RowSummary], columns: Sequence[str]) -> list[Plot]:
    """One per figure: ``table``, ``table-2``, …"""
    figures = list(summaries[0].cells) if summaries else []
    draw = _bars if len(summaries) * len(columns) <= MOST_BARS else _marks
    return [
        draw("table" if number == 1 else f"table-{number}", figure, summaries, columns)
        for number, figure in enumerate(figures, start=1)
    ]


def _marks(name: str, measured: str, summaries: Sequence[RowSummary], columns: Sequence[str]) -> Plot:
    """Rows from top to bottom; columns differ in colour and in shape, so that it can be read in grey."""
    rows = [s for s in summaries if any(s.median(c, measured) is not None for c in columns)] or list(summaries)
    shown = [c for c in columns if any(s.median(c, measured) is not None for s in rows)]
    description = f"{title_of(measured)} by row, a mark for each column: medians{_whiskers(rows, measured)}."
    if BETTER.get(measured):
        description += " Hollow: another column of the row is better by more than chance explains."
    with style.canvas((7.2, 1.3 + (0.1 + 0.06 * len(shown)) * len(rows))) as figure:
        axes = figure.subplots()
        for number, column in enumerate(columns):
            if column not in shown:
                continue
            colour = style.SERIES_COLOURS[number % len(style.SERIES_COLOURS)]
            marker = _OF_COLUMNS[number % len(_OF_COLUMNS)]
            axes.plot([], [], marker, markersize=4, color=colour, label=column)
            for place, summary in enumerate(rows):
                y = place - 0.38 + 0.76 * shown.index(column) / max(len(shown) - 1, 1)
                spread = summary.spread(column, measured)
                if spread.median is not None and spread.low is not None and spread.high is not None:
                    low, high = spread.interval[:2] if spread.interval else (spread.low, spread.high)
                    whisker = f"_{column}, {'interval' if spread.interval else 'range'}"
                    axes.hlines(y, low, high, color=colour, linewidth=1.2, label=whisker)
                    fill = style.PAPER if is_beaten(summary, column, measured) else colour
                    axes.plot(spread.median, y, marker, markersize=4, color=colour, mfc=fill, label=f"_{column}")
        for place in range(1, len(rows)):
            axes.axhline(place - 0.5, color=style.GRID, linewidth=0.7)
        axes.set_xlabel(with_unit(measured))
        axes.set_yticks(range(len(rows)), [f"{s.title} ({s.label})" if s.title else s.label for s in rows], fontsize=8)
        axes.grid(visible=False, axis="y")
        axes.set_ylim(len(rows) - 0.5, -0.5)
        medians = [s.median(c, measured) for s in rows for c in shown]
        _set_scale(axes, [value for value in medians if value is not None], "x")
        if shown:
            axes.legend(ncols=_A_LINE, **{**style.LEGEND, "handlelength": 1.2})
        return drawn(figure, name, description)


def is_beaten(summary: RowSummary, column: str, measured: str) -> bool:
    """Whether another column of the row is better, with the interval of the difference clear of 0, or by its value
    where chance has no part in either. Never where nobody says which way is better, or where there are too few runs."""
    way = {"higher": 1, "lower": -1, None: 0}[BETTER.get(measured)]
    own = summary.spread(column, measured)
    return any(_least_lead(way, other, own) > 0 for other in summary.cells[measured].values() if other.n and own.n)


def _least_lead(way: int, other: Spread, own: Spread) -> float:
    """By how much the other one is better at least; 0 where it can't be said."""
    if other.is_one and own.is_one:
        return way * (other.values[0] - own.values[0])
    difference = other.less(own)
    return 0.0 if difference is None else min(way * difference.low, way * difference.high)


def _bars(name: str, measured: str, summaries: Sequence[RowSummary], columns: Sequence[str]) -> Plot:
    bounded = any(measured in s.bounds for s in summaries)
    known_there = [k for s in summaries for k in s.known if k.figure == measured]
    description = f"{title_of(measured)} by row and column: bars are medians{_whiskers(summaries, measured)}"
    description += ", lines what the links carry at most" if bounded else ""
    description += ", marks what others say." if known_there else "."
    with style.canvas((9.6, 4.2)) as figure:
        axes = figure.subplots()
        width = 0.84 / len(columns)
        sources = list(dict.fromkeys(k.by for k in known_there))
        for number, column in enumerate(columns):
            colour = style.SERIES_COLOURS[number % len(style.SERIES_COLOURS)]
            axes.plot([], [], "s", markersize=7, color=colour, label=column)
            for place, summary in enumerate(summaries):
                x = place - 0.42 + (number + 0.5) * width
                spread = summary.spread(column, measured)
                if spread.median is not None and spread.low is not None and spread.high is not None:
                    axes.bar(x, spread.median, 0.9 * width, color=colour, label=f"_{column}")
                    low, high = spread.interval[:2] if spread.interval else (spread.low, spread.high)
                    whisker = f"_{column}, {'interval' if spread.interval else 'range'}"
                    axes.vlines(x, low, high, color=style.INK, linewidth=1, label=whisker)
                for known in summary.known:
                    if (known.column, known.figure) == (column, measured):
                        marker = _MARKERS[sources.index(known.by) % len(_MARKERS)]
                        theirs = f"_{column}, {known.by}"
                        axes.plot(x, known.value, label=theirs, **style.published(marker, 4.5))
        for place, summary in enumerate(summaries):
            if measured in summary.bounds:
                bound = summary.bounds[measured]
                ends = (place - 0.46, place + 0.46)
                axes.hlines(bound, *ends, color=style.MUTED, linewidth=1.2, label="_what the links carry")
        if bounded:
            axes.plot([], [], color=style.MUTED, linewidth=1.2, label="what the links carry")
        for number, source in enumerate(sources):
            axes.plot([], [], label=source, **style.published(_MARKERS[number % len(_MARKERS)], 4.5))
        axes.set_title(title_of(measured), pad=26)
        axes.set_ylabel(unit_of(measured))
        axes.ticklabel_format(axis="y", style="plain", useOffset=False)
        axes.set_xticks(range(len(summaries)), [_tick(s) for s in summaries], fontsize=7.5)
        axes.grid(visible=False, axis="x")
        axes.set_xlim(-0.5, len(summaries) - 0.5)
        shown = [s.median(c, measured) for s in summaries for c in columns] + [k.value for k in known_there]
        _set_scale(axes, [value for value in shown if value is not None], "y")
        axes.legend(ncols=8, **{**style.LEGEND, "handlelength": 1.4})
        return drawn(figure, name, description)


def _whiskers(summaries: Sequence[RowSummary], figure: str) -> str:
    """What the lines on the bars are."""
    spreads = [spread for summary in summaries for spread in summary.cells[figure].values()]
    levels = [spread.interval.level for spread in spreads if spread.interval]
    if levels:
        return f" with their intervals ({intervals.told(levels)}; where fewer than three runs count, the range)"
    return " with the range" if any(len(spread.values) > 1 for spread in spreads) else ""


def _set_scale(axes: Axes, shown: Sequence[float], along: Literal["x", "y"]) -> None:
    """From 0; logarithmic where the smallest could not be seen beside the largest, and says so."""
    if not shown or min(shown) <= 0 or max(shown) / min(shown) < MOST_RATIO:
        axes.set(**{f"{along}lim": (0, None)})
        return
    axis = axes.xaxis if along == "x" else axes.yaxis
    axes.set(**{f"{along}scale": "log", f"{along}lim": (min(shown) / 2, None)})
    axis.set_major_formatter(EngFormatter(sep=""))
    axis.set_label_text(f"{axis.get_label_text()}, logarithmic".lstrip(", "))


def _tick(summary: RowSummary) -> str:
    return "\n".join([summary.label, *textwrap.wrap(summary.title, round(style.of_the_page(17)))])
