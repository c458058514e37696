"""Lines over a transfer, all from 0: what most plots of a run are."""

from __future__ import annotations

from collections.abc import Mapping

from testbed.judge.checks.evidence import Timed
from testbed.results.report import style
from testbed.results.report.plot import Plot, drawn


def over_time(name: str, title: str, unit: str, description: str, lines: Mapping[str, Timed]) -> Plot | None:
    """A line by its label; None where none has a sample."""
    shown = {label: timed for label, timed in lines.items() if timed.t_s.size}
    if not shown:
        return None
    with style.new_plot(title, unit) as (figure, axes):
        for number, (label, timed) in enumerate(shown.items()):
            alone = "." if timed.t_s.size == 1 else None
            axes.plot(timed.t_s, timed.values, **style.line(number), label=label, marker=alone)
        axes.set_ylim(0, None)
        axes.set_xlim(0, max(float(timed.t_s[-1]) for timed in shown.values()) or None)
        axes.legend(ncols=4, **style.LEGEND)
        return drawn(figure, name, description)
