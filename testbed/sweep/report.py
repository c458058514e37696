"""Writes a sweep's ``report.html`` and ``plots/``; the page needs no other file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from testbed.checks.result import Verdict
from testbed.report.page_templates import page_templates, write_html
from testbed.report.plot import Plot
from testbed.sweep.figures import FIGURES
from testbed.sweep.load import LoadedSweep
from testbed.sweep.table import Row, spread, where

_HERE = Path(__file__).parent / "templates"


def write_report(
    folder: Path, loaded: LoadedSweep, rows: Sequence[Row], plots: Sequence[Plot], verdict: Verdict
) -> Path:
    """The page's path; the same table gives the same bytes."""
    keys = [*loaded.sweep.parameters, "policy"]
    return write_html(
        folder,
        page_templates(_HERE),
        "sweep.html.j2",
        plots,
        sweep=loaded.sweep,
        quick=loaded.quick,
        overrides=loaded.overrides,
        verdict=verdict,
        keys=keys,
        figures=FIGURES,
        medians=_medians(rows, keys),
        runs=len(rows),
    )


def told(rows: Sequence[Row]) -> str:
    """How many runs of a setting there are: those that are alike but for their seed are one observation."""
    apart = [{key: value for key, value in row.items() if key not in ("run", "seed")} for row in rows]
    one = len(rows) > 1 and all(row == apart[0] for row in apart)
    return f"{len(rows)}: one" if one else str(len(rows))


def _medians(rows: Sequence[Row], keys: Sequence[str]) -> list[dict[str, Any]]:
    """A row for each combination of settings: the settings, and the median over the seeds of each figure."""
    settings = {tuple(str(row[key]) for key in keys): {key: row[key] for key in keys} for row in rows}
    found = []
    for texts, values in settings.items():
        mine = where(rows, list(values.items()))
        spreads = [spread(mine, figure) for figure in FIGURES]
        found.append({"settings": texts, "n": told(mine), "figures": [s and s[0] for s in spreads]})
    return found
