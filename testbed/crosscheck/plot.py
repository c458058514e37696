"""All engines' curves in one plot."""

from __future__ import annotations

from collections.abc import Mapping

from testbed.checks.evidence import Evidence
from testbed.crosscheck.compare import SHARE_TOLERANCE
from testbed.plan.model import Session
from testbed.report import style
from testbed.report.plot import Plot

_MARKERS = (".", "x", "+")
"""Of the engines after the first."""


def share_plot(session: Session, engines: Mapping[str, Evidence]) -> Plot:
    """Window shares of a session: the first engine's as lines with what is allowed, each other one's as marks."""
    name = f"{session['name']}-window-share"
    description = f"Window shares of session {session['name']} on {' and '.join(engines)}"
    with style.new_plot("Share of the session's window", "share") as (figure, axes):
        for place, (engine, run) in enumerate(engines.items()):
            for number, (connection, s) in enumerate(run.samples("window_share", session["name"]).items()):
                if place == 0:
                    colour = style.SERIES_COLOURS[number % len(style.SERIES_COLOURS)]
                    axes.plot(s.t_s, s.values, color=colour, label=f"{connection}, {engine}")
                    low, high = s.values - SHARE_TOLERANCE, s.values + SHARE_TOLERANCE
                    axes.fill_between(s.t_s, low, high, color=colour, alpha=0.16, linewidth=0)
                else:
                    axes.plot(
                        s.t_s[::5],
                        s.values[::5],
                        _MARKERS[(place - 1) % len(_MARKERS)],
                        markersize=4,
                        color=style.INK,
                        zorder=3,
                        label=None if number else engine,
                    )
        axes.set_ylim(0, 1.05)
        axes.set_title(axes.get_title("left"), pad=12 + 12 * -(-len(axes.get_legend_handles_labels()[1]) // 3))
        axes.legend(
            loc="lower left", bbox_to_anchor=(-0.1, 0.99), ncols=3, columnspacing=0.8, handlelength=1.2, fontsize=7.5
        )
        return Plot(name, description, style.to_svg(figure, name, description))
