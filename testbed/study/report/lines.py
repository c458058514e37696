"""The lines that a table's checks fit through its cells, as pictures; from the verdict alone."""

from __future__ import annotations

import numpy as np

from testbed.judge.checks.result import CheckResult, Verdict
from testbed.judge.figures import with_unit
from testbed.results.report import style
from testbed.results.report.plot import Plot, drawn


def plots(verdict: Verdict) -> list[Plot]:
    """One for each check that fitted a line, ``line-1``, ``line-2``, …"""
    fitted = [check for check in verdict.checks if check.judge == "slope" and "slope" in check.figures]
    return [_plot(f"line-{number}", check) for number, check in enumerate(fitted, start=1)]


def _plot(name: str, check: CheckResult) -> Plot:
    figures = check.figures
    x_name, y_name = with_unit(figures["x"]), with_unit(figures["figure"])
    description = (
        f"{check.name}: {y_name} over {x_name}, a point per cell; the line has slope {figures['slope']:.4f} and "
        f"explains {figures['r2']:.4f} of the variance."
    )
    x, y = np.array(figures["points"]).T
    ends = np.array([0, 1.05 * x.max()])
    with style.new_plot(check.name, y_name) as (figure, axes):
        axes.plot(
            ends,
            figures["slope"] * ends + figures["intercept"],
            color=style.SERIES_COLOURS[1],
            label=f"slope {figures['slope']:.3f}",
        )
        axes.plot(x, y, "o", markersize=5, color=style.SERIES_COLOURS[0], label="measured")
        axes.set_xlabel(x_name)
        axes.set_xlim(0, None)
        axes.set_ylim(0, None)
        axes.legend(ncols=2, **style.LEGEND)
        return drawn(figure, name, description)
