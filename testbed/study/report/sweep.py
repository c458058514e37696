"""Writes a sweep's ``report.html`` and ``plots/``; the page needs no other file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from testbed.judge.checks.result import Verdict
from testbed.judge.ncp_figures import FIGURES
from testbed.results.report.page_templates import page_templates, write_html
from testbed.results.report.plot import Plot
from testbed.study.kinds.sweep_file import LoadedSweep, Sweep
from testbed.study.kinds.sweep_result import spread
from testbed.study.kinds.table_result import observations
from testbed.study.result import CellResult

_HERE = Path(__file__).parent / "templates"


def write_report(
    folder: Path, loaded: LoadedSweep, outcomes: Sequence[CellResult], plots: Sequence[Plot], verdict: Verdict
) -> Path:
    """The page's path; the same table gives the same bytes."""
    return write_html(
        folder,
        page_templates(_HERE),
        "sweep.html.j2",
        plots,
        sweep=loaded.sweep,
        quick=loaded.quick,
        overrides=loaded.overrides,
        verdict=verdict,
        keys=[*loaded.sweep.parameters, "policy"],
        figures=FIGURES,
        medians=_medians(loaded.sweep, outcomes),
        runs=len(outcomes),
    )


def _medians(sweep: Sweep, outcomes: Sequence[CellResult]) -> list[dict[str, Any]]:
    """A row for each combination and policy: its values, and the median over the seeds of each figure."""
    cells: dict[tuple[str, str], list[CellResult]] = {}
    for found in outcomes:
        cells.setdefault((found.at["row"], found.at["column"]), []).append(found)
    rows = sweep.combinations()
    return [
        {
            "settings": [*rows[row].values.values(), policy],
            "n": told(runs),
            "figures": [spread([found.record.figures.get(name) for found in runs]).median for name in FIGURES],
        }
        for (row, policy), runs in cells.items()
    ]


def told(runs: Sequence[CellResult]) -> str:
    """How many runs of a cell there are: those that are alike but for their seed are one observation."""
    return f"{len(runs)}: one" if len(observations(runs)) < len(runs) else str(len(runs))
