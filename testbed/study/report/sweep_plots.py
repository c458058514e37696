"""The plots of a sweep: a figure over a parameter, by policy or a second parameter, in panels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from testbed.judge.ncp_figures import FIGURES
from testbed.results.report import style
from testbed.results.report.plot import Plot, drawn
from testbed.study.checks.slope import Fit
from testbed.study.kinds.sweep_file import PlotOf
from testbed.study.kinds.sweep_result import Row, spread, values_of, where

MARKERS = ("o", "s", "^", "D", "v", "P")


def plot(rows: Sequence[Row], asked: PlotOf, number: int) -> Plot:
    """Medians over the seeds, with their range; a place without a mark has a run without the figure."""
    title, unit = FIGURES[asked.figure]
    panels = values_of(rows, asked.panels)
    name = f"{number}-{asked.figure.replace('_', '-')}"
    by = f" by {asked.lines}" if asked.lines else ""
    description = f"{title} ({unit}) over {asked.x}{by}" + (f", a panel per {asked.panels}" if asked.panels else "")
    width, height = style.SIZE_INCHES
    columns = min(3, len(panels))
    lines = -(-len(panels) // columns)
    with style.canvas((max(width, 3.2 * columns), height + 2.7 * (lines - 1))) as canvas:
        grid = canvas.subplots(lines, columns, sharey=True, squeeze=False).ravel()
        for axes, panel in zip(grid, panels, strict=False):
            _draw(axes, where(rows, [(asked.panels, panel)]), asked)
            if asked.panels:
                axes.set_title(f"{asked.panels} {panel}", fontsize=9.5, fontweight="normal")
        for axes in grid[len(panels) :]:
            axes.set_visible(False)
        grid[0].set_ylim(0, None)
        for axes in grid[::columns]:
            axes.set_ylabel(unit)
        canvas.suptitle(title, x=0.01, ha="left", fontsize=10.5, fontweight="bold")
        handles, labels = grid[0].get_legend_handles_labels()
        canvas.legend(handles, labels, loc="outside lower left", ncols=4, title=asked.lines, alignment="left")
        return drawn(canvas, name, description, wide=bool(asked.panels))


def _draw(axes: Axes, rows: Sequence[Row], asked: PlotOf) -> None:
    ticks = values_of(rows, asked.x)
    for number, value in enumerate(values_of(rows, asked.lines)):
        places = [where(rows, [(asked.lines, value), (asked.x, tick)]) for tick in ticks]
        found = [spread([row.get(asked.figure) for row in place]) for place in places]
        colour = style.SERIES_COLOURS[number % len(style.SERIES_COLOURS)]
        median, low, high = np.array([[one.median, one.low, one.high] for one in found], dtype=np.float64).T
        at = np.arange(len(ticks))
        axes.plot(
            at,
            median,
            color=colour,
            linestyle=style.LINE_STYLES[number % len(style.LINE_STYLES)],
            marker=MARKERS[number % len(MARKERS)],
            markersize=4,
            label=str(value),
        )
        style.band(axes, at, low, high, colour, str(value))
    axes.set_xticks(range(len(ticks)), [str(tick) for tick in ticks], fontsize=8)
    axes.set_xlabel(asked.x)


def law_plot(found: Fit, policy: str) -> Plot:
    """Measured times over τ with the fitted line, beside the law's own."""
    name = "law"
    description = f"Seconds until the windows of {policy} are in the links' ratio, over τ = W/Σrate, with the law."
    with style.new_plot("Time to converge over τ = W/Σrate", "s") as (canvas, axes):
        colour = style.SERIES_COLOURS[0]
        axes.plot(found.tau_s, found.measured_s, "o", color=colour, markersize=4, label="measured")
        t_s = np.array([0.0, max(found.tau_s)])
        fitted_look: Any = {"color": colour, "linewidth": 1.4}
        law_look: Any = {"color": style.INK, "linewidth": 0.9, "linestyle": (0, (2, 2))}
        lines = ((found.measured, "fitted", fitted_look), (found.expected, "law", law_look))
        for line, label, look in lines:
            axes.plot(t_s, [line.at(t) for t in t_s], label=f"{label}: slope {line.slope:.2f}", **look)
        axes.set_xlabel("τ = W / Σ rate, s")
        axes.set_xlim(0, None)
        axes.set_ylim(0, None)
        axes.legend(ncols=3, **style.LEGEND)
        return drawn(canvas, name, description)
