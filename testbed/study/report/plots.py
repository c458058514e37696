"""The plots of studies: of tables, sweeps, comparisons and claims."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import sub
from pathlib import Path
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter
from numpy.typing import NDArray

from testbed.documents import read_csv
from testbed.judge import intervals
from testbed.judge.checks.evidence import CannotJudge, Evidence, Timed
from testbed.judge.checks.result import CheckResult, Verdict
from testbed.judge.figures import title_of, unit_of, with_unit
from testbed.judge.ncp_figures import FIGURES
from testbed.judge.status import Status
from testbed.judge.verify import read_verdict
from testbed.plan.model import Session
from testbed.plan.read import read_plan
from testbed.results.report import style
from testbed.results.report.folder import ResultFolder
from testbed.results.report.plot import Curve, Plot, curve_plot, draw_curves, drawn
from testbed.results.report.tables import published_shares
from testbed.study.checks.agrees import SHARE_TOLERANCE
from testbed.study.checks.better import BETTER, Difference, Group, figure_of
from testbed.study.checks.claims import Judged
from testbed.study.checks.law import Fit, Row
from testbed.study.kinds.sweep_file import PlotOf
from testbed.study.kinds.table_file import first_run
from testbed.study.kinds.table_result import RowSummary, Spread, read_table, summaries_of

Values = NDArray[np.float64]
MOST_RATIO = 50
"""Largest ratio of the largest value to the smallest, on an axis that is not logarithmic."""
MOST_BARS = 60
"""Beyond, bars are too narrow to be read."""
MOST_RUNS = 10
"""Most runs of each group to draw: more could not be distinguished, and cost a second each."""
SHAPES = ("o", "s", "D", "^", "v", "P", "X", "*")
OF_SWEEPS = ("o", "s", "^", "D", "v", "P")
"""Markers of a sweep's lines, in the order that plots of earlier results have, which are verified to the byte."""
_OF_SOURCES = ("D", "o", "s", "^")
"""Markers of other people's measurements."""
_OF_ENGINES = (".", "x", "+")
"""Markers of the engines after the first."""


def of_table(document: Mapping[str, Any]) -> list[Plot]:
    """The plots of a ``table.json``: those that the table defines, else one for each figure."""
    defined, summaries = document.get("plots", []), summaries_of(document)
    return gains(defined, summaries) if defined else cells(summaries, document["columns"])


def cells(summaries: Sequence[RowSummary], columns: Sequence[str]) -> list[Plot]:
    """One per figure, ``table``, ``table-2``, …: a bar for each row and column, with the bound and what others measured
    drawn in; of a large table a line for each row, with a mark for each column."""
    figures = list(summaries[0].cells) if summaries else []
    draw = _bars if len(summaries) * len(columns) <= MOST_BARS else _marks
    return [
        draw("table" if number == 1 else f"table-{number}", figure, summaries, columns)
        for number, figure in enumerate(figures, start=1)
    ]


def _value(summary: RowSummary, column: str, figure: str) -> tuple[float, tuple[float, float], str] | None:
    """The median, the ends of its interval, or else of the range, and the label of these ends in the plot's points."""
    spread = summary.spread(column, figure)
    if spread.median is None or spread.low is None or spread.high is None:
        return None
    what, ends = ("interval", spread.interval) if spread.interval else ("range", (spread.low, spread.high))
    return spread.median, (ends[0], ends[1]), f"_{column}, {what}"


def _marks(name: str, measured: str, summaries: Sequence[RowSummary], columns: Sequence[str]) -> Plot:
    """Rows from top to bottom; columns differ in colour and in shape, so that it can be read in grey."""
    rows = [s for s in summaries if any(s.median(c, measured) is not None for c in columns)] or list(summaries)
    shown = [c for c in columns if any(s.median(c, measured) is not None for s in rows)]
    description = f"{title_of(measured)} by row, a mark for each column: medians{_whiskers(rows, measured)}."
    if any(is_beaten(s, column, measured) for s in rows for column in shown if s.median(column, measured) is not None):
        description += " Hollow: another column of the row is better by more than chance explains."
    with style.canvas((7.2, 1.3 + (0.1 + 0.06 * len(shown)) * len(rows))) as figure:
        axes = figure.subplots()
        for order, column in enumerate(shown):
            number = columns.index(column)
            colour = style.colour(number)
            look = _marks_of(SHAPES[number % len(SHAPES)], 4, colour)
            axes.plot([], [], **look, label=column)
            for place, summary in enumerate(rows):
                y = place - 0.38 + 0.76 * order / max(len(shown) - 1, 1)
                if value := _value(summary, column, measured):
                    median, ends, label = value
                    axes.hlines(y, *ends, color=colour, linewidth=1.2, label=label)
                    fill = style.PAPER if is_beaten(summary, column, measured) else colour
                    axes.plot(median, y, **look, mfc=fill, label=f"_{column}")
        for place in range(1, len(rows)):
            axes.axhline(place - 0.5, color=style.GRID, linewidth=0.7)
        axes.set_xlabel(with_unit(measured))
        names = [f"{s.title} ({s.label})" if s.title else s.label for s in rows]
        _name_places(axes, "y", names, 0.5, fontsize=8)
        axes.invert_yaxis()
        _set_scale(axes, [s.median(c, measured) for s in rows for c in shown], "x")
        return drawn(figure, name, description)


def is_beaten(summary: RowSummary, column: str, measured: str) -> bool:
    """Whether another column of the row is better, with the interval of the difference clear of 0, or by its value
    where chance has no part in either. Never where nobody says which way is better, or where there are too few runs."""
    way = {"higher": 1, "lower": -1, None: 0}[BETTER.get(measured)]
    own = summary.spread(column, measured)
    return any(_least_lead(way, other, own) > 0 for other in summary.cells[measured].values() if other.n and own.n)


def _least_lead(way: int, other: Spread, own: Spread) -> float:
    """The least advantage of the other one; 0 where it is unknown."""
    if other.is_one and own.is_one:
        return way * (other.values[0] - own.values[0])
    difference = other.combined(own, sub).interval
    return 0.0 if difference is None else min(way * difference.low, way * difference.high)


def _bars(name: str, measured: str, summaries: Sequence[RowSummary], columns: Sequence[str]) -> Plot:
    bounded = any(measured in s.bounds for s in summaries)
    known = [k for s in summaries for k in s.known if k.figure == measured and k.column in columns]
    description = f"{title_of(measured)} by row and column: bars are medians{_whiskers(summaries, measured)}"
    description += ", lines what the links carry at most" if bounded else ""
    description += ", marks what others say." if known else "."
    sources = list(dict.fromkeys(k.by for k in known))
    looks = {by: style.published(_OF_SOURCES[n % len(_OF_SOURCES)], 4.5) for n, by in enumerate(sources)}
    with style.canvas((9.6, 4.2)) as figure:
        axes = figure.subplots()
        width = 0.84 / len(columns)
        for number, column in enumerate(columns):
            named = column  # by its first bar, as a legend names what is drawn
            for place, summary in enumerate(summaries):
                x = place - 0.42 + (number + 0.5) * width
                if value := _value(summary, column, measured):
                    median, ends, label = value
                    axes.bar(x, median, 0.9 * width, label=named, **style.bar(number))
                    named = f"_{column}"
                    axes.vlines(x, *ends, color=style.INK, linewidth=1, label=label)
                for k in summary.known:
                    if (k.column, k.figure) == (column, measured):
                        axes.plot(x, k.value, label=f"_{column}, {k.by}", **looks[k.by])
        limit: Any = {"color": style.MUTED, "linewidth": 1.2}
        for place, summary in enumerate(summaries):
            if measured in summary.bounds:
                ends = (place - 0.46, place + 0.46)
                axes.hlines(summary.bounds[measured], *ends, **limit, label="_what the links carry")
        if bounded:
            axes.plot([], [], **limit, label="what the links carry")
        for by, look in looks.items():
            axes.plot([], [], label=by, **look)
        axes.set_title(title_of(measured))
        axes.set_ylabel(unit_of(measured))
        axes.ticklabel_format(axis="y", style="plain", useOffset=False)
        narrow = round(style.of_the_page(17))
        ticks = ["\n".join([s.label, *textwrap.wrap(s.title, narrow)]) for s in summaries]
        _name_places(axes, "x", ticks, 0.5, fontsize=7.5)
        _set_scale(axes, [*(s.median(c, measured) for s in summaries for c in columns), *(k.value for k in known)], "y")
        return drawn(figure, name, description)


def _whiskers(summaries: Sequence[RowSummary], figure: str) -> str:
    """The meaning of the lines on the bars."""
    spreads = [spread for summary in summaries for spread in summary.cells[figure].values()]
    levels = [spread.interval.level for spread in spreads if spread.interval]
    if levels:
        at = intervals.levels_in_words(levels)
        return f" with their intervals ({at}; where fewer than three runs count, the range)"
    return " with the range" if any(len(spread.values) > 1 for spread in spreads) else ""


def _name_places(axes: Axes, along: Literal["x", "y"], names: Sequence[str], margin: float, **look: Any) -> None:
    """An axis with names in place of numbers, and no grid."""
    axis = axes.xaxis if along == "x" else axes.yaxis
    axis.set_ticks(range(len(names)), names, **look)
    axis.grid(visible=False)
    axes.set(**{f"{along}lim": (-margin, len(names) - 1 + margin)})


def _set_scale(axes: Axes, values: Sequence[float | None], along: Literal["x", "y"]) -> None:
    """An axis from 0; logarithmic where the smallest could not be seen beside the largest, and says so."""
    shown = [value for value in values if value is not None]
    if not shown or min(shown) <= 0 or max(shown) / min(shown) < MOST_RATIO:
        axes.set(**{f"{along}lim": (0, None)})
        return
    axis = axes.xaxis if along == "x" else axes.yaxis
    axes.set(**{f"{along}scale": "log", f"{along}lim": (min(shown) / 2, None)})
    axis.set_major_formatter(EngFormatter(sep=""))
    axis.set_label_text(f"{axis.get_label_text()}, logarithmic".lstrip(", "))


_IN_MS = {"s": 1000.0, "ms": 1.0}
_COLOURS = style.SERIES_COLOURS[1], style.SERIES_COLOURS[0]
"""Colours of absolute gains and of those in percent."""
_WIDTH = 0.36
_LEAST_MS = 1.0
"""Start of the logarithmic axis; smaller values have no bar."""
_MOST_MS = 10_000.0
"""Least end of the axis, as in the published figures, so that they can be laid side by side."""
_MOST_LEVEL = 8
"""Most labels of rows that fit beside each other in the narrow picture."""


def gain(values: Values, factor: float) -> Values:
    """The gain of the first row of values over the second: absolute, in their unit times ``factor``, and in percent.

    NaN where one of them is missing, or the second is 0."""
    larger, smaller = values[0], np.where(values[1], values[1], np.nan)
    return np.array([(larger - smaller) * factor, 100 * (larger / smaller - 1)])


def gains(defined: Sequence[Mapping[str, Any]], summaries: Sequence[RowSummary]) -> list[Plot]:
    """Plots of one column's gain over another, row by row: one for each of the ``plots`` of a ``table.json`` of which a
    row was run."""
    by_name = {summary.name: summary for summary in summaries}
    chosen = [(plot, [by_name[name] for name in plot["rows"] if name in by_name]) for plot in defined]
    return [_gain(plot, rows) for plot, rows in chosen if rows]


def _gain(plot: Mapping[str, Any], rows: Sequence[RowSummary]) -> Plot:
    """Absolute and in percent, and both columns' values."""
    columns = column, over = plot["column"], plot["over"]
    measured = plot["figure"] or next(iter(rows[0].cells))
    factor = _IN_MS.get(unit_of(measured), 1.0)
    unit = "ms" if unit_of(measured) in _IN_MS else unit_of(measured)
    medians = np.array([[row.median(c, measured) for row in rows] for c in columns], dtype=np.float64)
    published = [{(k.column, k.figure): k.value for k in reversed(row.known)} for row in rows]  # the first source's
    known = np.array([[of.get((c, measured)) for of in published] for c in columns], dtype=np.float64)
    description = f"{plot['title']}: by how much {column} is above {over}, absolute and in percent of {over}, and both."
    description += " Bars and lines are measured, marks published." if np.isfinite(known).any() else ""
    with style.canvas((9.6, 3.6)) as figure:
        left, right = figure.subplots(1, 2, width_ratios=(3, 2))
        _draw_gains(left, gain(medians, factor), gain(known, factor), unit)
        for number, name in enumerate(columns):
            look = {"color": _COLOURS[number], "linestyle": style.LINE_STYLES[number]}
            right.plot(*_points(factor * medians[number]), **look, label=name)
            right.plot(*_points(factor * known[number]), label=f"_{name}, published", **style.published("Do"[number]))
        right.set_yscale("log")
        right.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        right.yaxis.set_major_formatter("{x:,.0f}")
        right.yaxis.set_minor_formatter(NullFormatter())
        right.set_ylabel(f"{column} and {over}, {unit}")
        left.set_title(plot["title"])
        for axes in (left, right):
            axes.set_xlabel(plot["x"])
            _name_places(axes, "x", [row.label for row in rows], 0.6, fontsize=8)
            if len(rows) > _MOST_LEVEL and axes is right:
                axes.tick_params(axis="x", rotation=45)
        return drawn(figure, plot["name"], description)


def _draw_gains(axes: Axes, ours: Values, theirs: Values, unit: str) -> None:
    """A plot in the form of the published figures: absolute on a logarithmic axis, percent on another."""
    percent = axes.twinx()
    for number, (on, of, least) in enumerate(((axes, unit, _LEAST_MS), (percent, "%", -np.inf))):
        for place, (measured, known) in enumerate(zip(ours[number], theirs[number], strict=True)):
            x = place + (number - 0.5) * _WIDTH
            if measured > least:
                on.bar(x, measured, _WIDTH, color=_COLOURS[number], label=f"_improvement, {of}")
            if known > least:
                on.plot(x, known, label=f"_published, {of}", **style.published("Do"[number]))
        on.set_ylabel(f"improvement, {of}")
        axes.plot([], [], "s", markersize=7, color=_COLOURS[number], label=of)
    if np.isfinite(theirs).any():
        axes.plot([], [], label=f"published, {unit}", **style.published("D"))
        axes.plot([], [], label="published, %", **style.published("o"))
    absolute, percents = np.hstack([ours, theirs])
    axes.set_yscale("log")
    axes.set_ylim(_LEAST_MS, np.nanmax([_MOST_MS, *2 * absolute]))
    axes.yaxis.set_major_formatter("{x:,.0f}")
    percent.set_ylim(0, np.nanmax([50.0, *1.08 * percents]))
    percent.grid(visible=False)


def _points(values: Values) -> tuple[Any, Values]:
    there = np.flatnonzero(np.isfinite(values))
    return there, values[there]


def fitted(verdict: Verdict) -> list[Plot]:
    """A plot for each check that fitted a line through a table's cells, ``line-1``, ``line-2``, …"""
    fits = [check for check in verdict.checks if check.judge == "slope" and "slope" in check.figures]
    return [_fit(f"line-{number}", check) for number, check in enumerate(fits, start=1)]


def _fit(name: str, check: CheckResult) -> Plot:
    of = check.figures
    x_label, y_label = with_unit(of["x"]), with_unit(of["figure"])
    x, y = zip(*of["points"], strict=True)
    ends = (0.0, 1.05 * max(x))
    line = [of["slope"] * end + of["intercept"] for end in ends]
    curves = [
        Curve(f"slope {of['slope']:.3f}", ends, line, {"color": style.SERIES_COLOURS[1]}),
        Curve("measured", x, y, _marks_of("o", 5, style.SERIES_COLOURS[0])),
    ]
    description = (
        f"{check.name}: {y_label} over {x_label}, a point per cell; the line has slope {of['slope']:.4f} and "
        f"explains {of['r2']:.4f} of the variance."
    )
    return curve_plot(name, check.name, y_label, description, curves, x_label=x_label)


def _marks_of(shape: str, size: float, colour: str) -> dict[str, Any]:
    return {"marker": shape, "linestyle": "None", "markersize": size, "color": colour}


def law(found: Fit, policy: str) -> Plot:
    """Measured times over τ with the fitted line, beside the law's own."""
    colour = style.SERIES_COLOURS[0]
    t_s = np.array([0.0, max(found.tau_s)])
    curves = [Curve("measured", found.tau_s, found.measured_s, _marks_of("o", 4, colour))]
    for line, label, look in (
        (found.measured, "fitted", {"color": colour, "linewidth": 1.4}),
        (found.expected, "law", {"color": style.INK, "linewidth": 0.9, "linestyle": (0, (2, 2))}),
    ):
        curves.append(Curve(f"{label}: slope {line.slope:.2f}", t_s, [line.at(t) for t in t_s], look))
    title, x_label = "Time to converge over τ = W/Σrate", "τ = W / Σ rate, s"
    description = f"Seconds until the windows of {policy} are in the links' ratio, over τ = W/Σrate, with the law."
    return curve_plot("law", title, "s", description, curves, x_label=x_label)


def panels_of_sweep(rows: Sequence[Row], plot: PlotOf, number: int) -> Plot:
    """A numbered plot of a sweep: a figure over a parameter, by policy or a second parameter, in panels. Medians over
    the seeds, with their range; a place without a mark has a run without the figure."""
    title, unit = FIGURES[plot.figure]
    panels = _values(rows, plot.panels)
    by = f" by {plot.lines}" if plot.lines else ""
    description = f"{title} ({unit}) over {plot.x}{by}" + (f", a panel per {plot.panels}" if plot.panels else "")
    width, height = style.SIZE_INCHES
    columns = min(3, len(panels))
    lines = -(-len(panels) // columns)
    with style.canvas((max(width, 3.2 * columns), height + 2.7 * (lines - 1))) as canvas:
        grid = canvas.subplots(lines, columns, sharey=True, squeeze=False).ravel()
        for axes, panel in zip(grid, panels, strict=False):
            _draw_panel(axes, _where(rows, plot.panels, panel), plot)
            if plot.panels:
                axes.set_title(f"{plot.panels} {panel}", fontsize=9.5, fontweight="normal")
        for axes in grid[len(panels) :]:
            axes.set_visible(False)
        highest = max(axes.dataLim.y1 for axes in grid)
        grid[0].set_ylim(0, max(grid[0].get_ylim()[1], 1.03 * highest))  # with room for a mark
        for axes in grid[::columns]:
            axes.set_ylabel(unit)
        canvas.suptitle(title, x=0.01, ha="left", fontsize=10.5, fontweight="bold")
        handles, labels = grid[0].get_legend_handles_labels()
        canvas.legend(handles, labels, loc="outside lower left", ncols=4, title=plot.lines, alignment="left")
        return drawn(canvas, f"{number}-{plot.figure.replace('_', '-')}", description, wide=bool(plot.panels))


def _draw_panel(axes: Axes, rows: Sequence[Row], plot: PlotOf) -> None:
    ticks = _values(rows, plot.x)
    at = np.arange(len(ticks))
    for number, value in enumerate(_values(rows, plot.lines)):
        line = _where(rows, plot.lines, value)
        found = [spread_of([row.get(plot.figure) for row in _where(line, plot.x, tick)]) for tick in ticks]
        median, low, high = np.array([[one.median, one.low, one.high] for one in found], dtype=np.float64).T
        look = {**style.line(number), "marker": OF_SWEEPS[number % len(OF_SWEEPS)], "markersize": 4}
        draw_curves(axes, [Curve(str(value), at, median, look, (low, high))])
    axes.set_xticks(at, [str(tick) for tick in ticks], fontsize=8)
    axes.set_xlabel(plot.x)


def spread_of(values: Sequence[float | None]) -> Spread:
    """The spread of a figure's values; empty unless every run has one."""
    there = [value for value in values if value is not None]
    return Spread.of(there if len(there) == len(values) else [])


def _values(rows: Sequence[Row], key: str | None) -> list[Any]:
    """A column's different values in the order that they come in; [None] without a column."""
    return [None] if key is None else list({str(row[key]): row[key] for row in rows}.values())


def _where(rows: Sequence[Row], key: str | None, value: Any) -> Sequence[Row]:
    """The rows with a value in a column; all without a column."""
    return rows if key is None else [row for row in rows if row[key] == value]


OVER_TIME = (
    ("window-share", "window_share", "Share of the window", "share", 1.0),
    ("delivered-share", "delivered_share", "Share of what was delivered", "share", 1.0),
    ("goodput", "goodput_bps", "Goodput", "MiB/s", 8 * 2.0**20),
    ("rtt", "rtt_ms", "RTT", "ms", 1.0),
)


def over_time(groups: Sequence[Group], home: Path) -> list[Plot]:
    """A plot per series that all groups have: of each connection the mean of each group's runs, and from the lowest to
    the highest. ``home`` is the comparison's folder, in which runs may be."""
    runs: dict[str, list[Evidence | None]] = {}
    for one in groups:
        folders = [run.folder for run in one.trusted[:MOST_RUNS] if run.facts is not None]
        runs[one.name] = [ResultFolder(home / folder).evidence for folder in folders]
    plots = []
    # Earlier versions drew the first connection.
    drawn_of_each = None if all(run.chance for one in groups for run in one.runs) else 1
    for name, series, title, unit, scale in OVER_TIME:
        samples: dict[tuple[str, str], list[Timed]] = defaultdict(list)
        for group, found in runs.items():
            for connection, s in (each for run in found for each in _connections(run, series)[:drawn_of_each]):
                samples[connection, group].append(s)
        if not samples or {group for _, group in samples} != set(runs):
            continue
        curves, order = [], list(dict.fromkeys(connection for connection, _ in samples))
        for number, (connection, group) in enumerate(sorted(samples, key=lambda one: order.index(one[0]))):
            of = samples[connection, group]
            grid_s = np.linspace(0.0, min(float(s.t_s[-1]) for s in of), 300)
            values = np.array([np.interp(grid_s, s.t_s, s.values) / scale for s in of])
            band = (values.min(axis=0), values.max(axis=0))
            label = f"{group}, {connection}" if len(samples) > len(runs) else group
            curves.append(Curve(label, grid_s, values.mean(axis=0), style.line(number), band))
        right = max(float(s.t_s[-1]) for of in samples.values() for s in of)
        of_each = f"means of up to {max(map(len, runs.values()))} runs of each, and their range"
        description = f"{title} of {' and '.join(runs)}: {of_each}."
        plots.append(curve_plot(name, title, unit, description, curves, right=right))
    return plots


def _connections(run: Evidence | None, series: str) -> list[tuple[str, Timed]]:
    """The series' samples of each connection, of several sessions with the session's name; none where there are
    none."""
    names = [session["name"] for session in run.plan["sessions"]] if run else []
    try:
        found = [(name, each) for name in names for each in run.samples(series, name).items()] if run else []
    except CannotJudge:
        return []
    return [
        (f"{name} {connection}".strip() if len(names) > 1 else connection, s)
        for name, (connection, s) in found
        if s.t_s.size > 1
    ]


MOST_LINEAR = 30.0
"""Largest difference, in %, on a linear axis, where 0.5% can be seen."""


def differences(found: Sequence[Difference], confidence: float) -> list[Plot]:
    """A plot of differences in percent of the first group with their intervals; none where there are none to draw."""
    every = [d for d in found if d.low is not None and d.base.mean]
    if not (shown := every[:24]):
        return []
    description = f"Differences in % of the first group; intervals together hold with {confidence:.0%} (nominal)."
    description += f" The first {len(shown)} of {len(every)} are drawn." if len(shown) < len(every) else ""
    with style.canvas((9.6, 1.1 + 0.27 * len(shown))) as figure:
        axes = figure.subplots()
        axes.axvline(0, color=style.INK, linewidth=0.9)
        looks = {"better": ("#009e73", "^"), "worse": ("#d55e00", "v")}
        for place, d in enumerate(reversed(shown)):
            scale = 100 / abs(d.base.mean)
            # An interval on a linear scale may reach beyond what there is: no mean of such values is below 0.
            least = -100.0 if min(d.base.low, d.new.low) >= 0 else -np.inf
            ends = [max(least, float(x) * scale) for x in (d.low or 0.0, d.high or 0.0)]
            colour, shape = looks.get(d.direction, (style.MUTED, "o"))
            axes.plot(ends, [place, place], color=colour, lw=2.2, solid_capstyle="butt", label="_interval")
            axes.plot([d.difference * scale], [place], shape, color=colour, markersize=6, label=f"_{d.direction}")
        axes.set_yticks(range(len(shown)), [_label(d) for d in reversed(shown)])
        axes.set_xlabel("difference from the first group, %")
        if np.abs(axes.get_xlim()).max() > MOST_LINEAR:
            axes.set_xscale("symlog", linthresh=1)
            axes.locator_params("x", numticks=6)  # every second decade of more, and margins on this scale
            axes.set_xlabel(f"{axes.get_xlabel()}, logarithmic beyond ±1")
        axes.xaxis.set_major_formatter(lambda x, _: f"{x:+.6g}".replace("-", "−") if x else "0")
        return [drawn(figure, "differences", description, wide=True)]


def _label(d: Difference) -> str:
    title = figure_of(d.figure).title.split(",")[0]
    title = title if len(title) < 48 else title[:46] + "…"
    return " ".join(part for part in (d.case, title) if part) + f" ({d.group})"


def shares(session: Session, engines: Mapping[str, Evidence]) -> Plot:
    """Window shares of a session: the first engine's as lines with what is allowed, each other one's as marks."""
    scenario = next(iter(engines.values())).plan["scenario"]
    curves = []
    for place, (engine, run) in enumerate(engines.items()):
        marks = {**_marks_of(_OF_ENGINES[(place - 1) % len(_OF_ENGINES)], 4, style.INK), "zorder": 3}
        for number, (connection, s) in enumerate(run.samples("window_share", session["name"]).items()):
            if place:
                curves.append(Curve(f"_{connection}, {engine}" if number else engine, s.t_s[::5], s.values[::5], marks))
            else:
                allowed = (s.values - SHARE_TOLERANCE, s.values + SHARE_TOLERANCE)
                look = {"color": style.colour(number)}
                label, band_name = f"{connection}, {engine}", f"{connection}, allowed"
                curves.append(Curve(label, s.t_s, s.values, look, allowed, band_name))
    name, title = f"{scenario}-{session['name']}-window-share", "Share of the session's window"
    description = f"Window shares of session {session['name']} on {' and '.join(engines)}"
    return curve_plot(name, title, "share", description, curves, left=None, top=1.05)


def published(claims: Sequence[Judged]) -> list[Plot]:
    """A plot of what was measured as a part of what was published: a point with its interval for each claim with one
    figure."""
    shown = [claim for claim in claims if claim.value is not None and len(claim.figures) == 1]
    if not shown:
        return []
    description = "Measured over published figure of each claim with one, and its interval where the table has one."
    with style.canvas((9.6, 0.9 + 0.27 * len(shown))) as figure:
        axes = figure.subplots()
        for place, claim in enumerate(shown):
            y, value, held = len(shown) - 1 - place, claim.value or 1.0, claim.verdict == Status.PASS
            key, measured = next(iter(claim.figures.items()))
            colour, shape = (style.SERIES_COLOURS[0], "o") if held else (style.SERIES_COLOURS[1], "X")
            if key in claim.intervals:
                low, high = claim.intervals[key][:2]
                axes.hlines(y, low / value, high / value, color=colour, linewidth=2, label="_interval")
            axes.plot(measured / value, y, shape, color=colour, markersize=6, label="_measured / published")
        axes.axvline(1, color=style.MUTED, linewidth=1)
        axes.plot([], [], "o", color=style.SERIES_COLOURS[0], label="holds")
        axes.plot([], [], "X", color=style.SERIES_COLOURS[1], label="does not, or open")
        _name_places(axes, "y", [claim.id for claim in reversed(shown)], 0.6)
        axes.set_xlabel("measured / published")
        return [drawn(figure, "published", description)]


def shaken(claim: Mapping[str, Any]) -> Plot:
    """The value of a shaken claim over each factor, a panel each: points that hold, those that do not, and the
    source's."""
    own, *others = claim["points_made"]
    names = [name for name in own["changes"] if name != "seed"]
    looks = [("holds", "pass", "o"), ("fails", "fail", "X")]
    with style.canvas((9.6, 0.6 + 2.1 * -(-len(names) // 4))) as figure:
        grid = figure.subplots(-(-len(names) // 4), 4, sharey=True, squeeze=False).ravel()
        for axes, name in zip(grid, names, strict=False):
            for number, (label, status, shape) in enumerate(looks):
                there = [one for one in others if one["status"] == status and one["value"] is not None]
                x, y = [one["changes"][name] for one in there], [one["value"] for one in there]
                axes.plot(x, y, label=label, **_marks_of(shape, 3, style.SERIES_COLOURS[number]))
            if own["value"] is not None:
                axes.plot(own["changes"][name], own["value"], label="source", **_marks_of("D", 5, style.INK))
            axes.set_title(name, fontsize=9.5, fontweight="normal")
        for axes in grid[len(names) :]:
            axes.set_visible(False)
        figure.legend(*grid[0].get_legend_handles_labels(), loc="outside lower left", ncols=3)
        description = f"{claim['id']}: its value ({claim['unit']}) over the change of each factor; {claim['said']}."
        return drawn(figure, f"{claim['engine']}-{claim['id']}", description, wide=True)


def of_run(name: str, folder: Path) -> list[Plot]:
    """Plots from the small files of one of the runs behind claims: a table's picture, or the shares of its windows."""
    if (folder / "table.json").is_file():
        if (first := first_run(folder)) is not None:
            return of_run(name, first)
        table = read_table(folder)
        spreads = [s for row in summaries_of(table) for of in row.cells.values() for s in of.values()]
        if not any(spread.n for spread in spreads):
            return []  # nothing could be measured, and what was published alone is no picture
        return [replace(plot, name=f"{name}-{plot.name}") for plot in of_table(table)]
    if (folder / "windows.csv").is_file() and (folder / "plan.json").is_file():
        return _window_shares(name, folder)
    return []


def _window_shares(name: str, folder: Path) -> list[Plot]:
    plan, verdict = read_plan(folder / "plan.json"), read_verdict(folder)
    rows = read_csv(folder / "windows.csv")
    lines: dict[str, dict[float, float]] = defaultdict(dict)
    for row in rows:
        if row["share"] and row["session"] == rows[0]["session"]:
            lines[row["connection"]][float(row["t_s"])] = float(row["share"])
    if len(lines) < 2:
        return []
    law: list[dict[str, Any]] = next((c.figures["shares"] for c in verdict.checks if c.figures.get("shares")), [])
    curves = [
        Curve(connection, list(shares), list(shares.values()), style.line(number))
        for number, (connection, shares) in enumerate(lines.items())
    ]
    if law:
        shares_by_law = [share["law"] for share in law]
        curves.append(Curve("law", [share["t_s"] for share in law], shares_by_law, _marks_of("+", 7, style.INK)))
    elsewhere = published_shares(plan["scenario"], verdict.policy)
    for number, source in enumerate(dict.fromkeys(one.measured_by for one in elsewhere)):
        theirs = [one for one in elsewhere if one.measured_by == source]
        label = "on real links" if number else "upstream again"
        look = style.published(("D", "s", "^", "o")[number % 4])
        curves.append(Curve(label, [one.t_s for one in theirs], [one.share for one in theirs], look))
    title = f"{plan['scenario']}, {verdict.policy}"
    description = f"{title}: each connection's share of the window over time."
    return [curve_plot(f"{name}-shares", title, "share of the window", description, curves, top=1.05)]
