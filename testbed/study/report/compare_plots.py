"""Groups, and engines, over one another: over time, and differences as intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.ticker import NullLocator

from testbed.judge.checks.evidence import CannotJudge, Evidence, Timed, agent_results
from testbed.plan.model import Session
from testbed.plan.read import read_plan
from testbed.results.report import style
from testbed.results.report.plot import Plot, drawn
from testbed.series import FromFile
from testbed.study.checks.agrees import SHARE_TOLERANCE
from testbed.study.checks.better import Difference, Group, Run, figure_of

OVER_TIME = (
    ("window-share", "window_share", "Share of the window, first connection", "share", 1.0),
    ("delivered-share", "delivered_share", "Share of what was delivered, first connection", "share", 1.0),
    ("goodput", "goodput_bps", "Goodput", "MiB/s", 8 * 2.0**20),
    ("rtt", "rtt_ms", "RTT, first connection", "ms", 1.0),
)
MOST_RUNS = 10
"""Of each group are drawn: more would not be told apart, and cost a second each."""
POINTS = 300
TICKS = (-1000, -100, -30, -10, -5, 0, 5, 10, 30, 100, 1000)
_MARKERS = (".", "x", "+")
"""Of the engines after the first."""


def over_time(groups: Sequence[Group]) -> list[Plot]:
    """A plot per series that all groups have: the mean of each group's runs, and from the lowest to the highest."""
    runs = {group.name: [_evidence(run) for run in group.trusted[:MOST_RUNS]] for group in groups}
    plots = []
    for name, series, title, unit, scale in OVER_TIME:
        samples = {group: [s for run in found for s in _first(run, series)] for group, found in runs.items()}
        if not samples or not all(samples.values()):
            continue
        ends = [float(s.t_s[-1]) for found in samples.values() for s in found]
        description = f"{title} of {' and '.join(samples)}: means of the runs, and from the lowest to the highest."
        with style.new_plot(title, unit) as (figure, axes):
            for number, (group, found) in enumerate(samples.items()):
                grid_s = np.linspace(0.0, min(float(s.t_s[-1]) for s in found), POINTS)
                values = np.array([np.interp(grid_s, s.t_s, s.values) / scale for s in found])
                colour = style.SERIES_COLOURS[number % len(style.SERIES_COLOURS)]
                line = style.LINE_STYLES[number % len(style.LINE_STYLES)]
                axes.plot(grid_s, values.mean(axis=0), color=colour, linestyle=line, label=group)
                low, high = values.min(axis=0), values.max(axis=0)
                style.band(axes, grid_s, low, high, colour, group, alpha=0.2)
            axes.set_ylim(bottom=0)
            axes.set_xlim(0, max(ends))
            axes.legend(ncols=3, **style.LEGEND)
            plots.append(drawn(figure, name, description))
    return plots


def intervals(found: Sequence[Difference], confidence: float) -> Plot | None:
    """Differences in percent of the first group with their intervals; None where there are none to draw."""
    shown = [d for d in found if d.low is not None and d.base.mean][:24]
    if not shown:
        return None
    name = "differences"
    description = f"Differences in % of the first group; all intervals together hold with {confidence:.0%} (nominal)."
    with style.new_plot("Difference from the first group", "") as (figure, axes):
        figure.set_figheight(1.4 + 0.27 * len(shown))
        axes.axvline(0, color=style.INK, linewidth=0.9)
        for place, d in enumerate(reversed(shown)):
            scale = 100 / abs(d.base.mean)
            low, high = (float(x) * scale for x in (d.low or 0.0, d.high or 0.0))
            colour = {"better": "#009e73", "worse": "#d55e00"}.get(d.direction, style.MUTED)
            ends: Any = {"color": colour, "linewidth": 2.2, "solid_capstyle": "butt", "label": "_interval"}
            axes.plot([low, high], [place, place], **ends)
            marker = {"better": "^", "worse": "v"}.get(d.direction, "o")
            axes.plot([d.difference * scale], [place], marker, color=colour, markersize=6, label=f"_{d.direction}")
        axes.set_yticks(range(len(shown)), [_label(d) for d in reversed(shown)], fontsize=8)
        axes.set_xscale("symlog", linthresh=5)
        left, right = axes.get_xlim()
        axes.set_xticks([tick for tick in TICKS if left <= tick <= right])
        axes.xaxis.set_major_formatter("{x:+g}")
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xlabel("% (logarithmic beyond ±5)")
        return drawn(figure, name, description)


def share_plot(session: Session, engines: Mapping[str, Evidence]) -> Plot:
    """Window shares of a session: the first engine's as lines with what is allowed, each other one's as marks."""
    scenario = next(iter(engines.values())).plan["scenario"]
    name = f"{scenario}-{session['name']}-window-share"
    description = f"Window shares of session {session['name']} on {' and '.join(engines)}"
    with style.new_plot("Share of the session's window", "share") as (figure, axes):
        for place, (engine, run) in enumerate(engines.items()):
            for number, (connection, s) in enumerate(run.samples("window_share", session["name"]).items()):
                if place == 0:
                    colour = style.SERIES_COLOURS[number % len(style.SERIES_COLOURS)]
                    axes.plot(s.t_s, s.values, color=colour, label=f"{connection}, {engine}")
                    low, high = s.values - SHARE_TOLERANCE, s.values + SHARE_TOLERANCE
                    style.band(axes, s.t_s, low, high, colour, f"{connection}, allowed")
                else:
                    axes.plot(
                        s.t_s[::5],
                        s.values[::5],
                        _MARKERS[(place - 1) % len(_MARKERS)],
                        markersize=4,
                        color=style.INK,
                        zorder=3,
                        label=f"_{connection}, {engine}" if number else engine,
                    )
        axes.set_ylim(0, 1.05)
        axes.set_title(axes.get_title("left"), pad=12 + 12 * -(-len(axes.get_legend_handles_labels()[1]) // 3))
        axes.legend(
            loc="lower left", bbox_to_anchor=(-0.1, 0.99), ncols=3, columnspacing=0.8, handlelength=1.2, fontsize=7.5
        )
        return drawn(figure, name, description)


def _label(d: Difference) -> str:
    title = figure_of(d.figure).title.split(",")[0]
    title = title if len(title) < 30 else title[:28] + "…"
    return " ".join(part for part in (d.case, title) if part) + f" ({d.group})"


def _evidence(run: Run) -> Evidence | None:
    folder = Path(run.folder)
    if run.facts is None or not (folder / "telemetry.lp").is_file():
        return None
    plan = read_plan(folder / "plan.json")
    return Evidence(plan, FromFile(folder / "telemetry.lp"), agent_results(folder / "agents"))


def _first(run: Evidence | None, series: str) -> list[Timed]:
    """The series' samples of the first connection of the first session; none where there are none."""
    if run is None:
        return []
    try:
        found = run.samples(series, run.plan["sessions"][0]["name"])
    except CannotJudge:
        return []
    first = next(iter(found.values()), None)
    return [first] if first is not None and first.t_s.size > 1 else []
